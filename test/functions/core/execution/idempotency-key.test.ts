import { describe, expect, test } from '@jest/globals';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import {
  answerUsedKey,
  fingerprintOf,
  readIdempotencyKey,
  upstreamKeyOf,
  upstreamUuidOf,
} from '../../../../functions/core/execution/idempotency-key.ts';
import type { UsedKey } from '../../../../functions/core/execution/idempotent-call-store.ts';
import { readRequest } from '../../../../functions/core/http/request.ts';

const requestWith = (...values: string[]) =>
  readRequest(
    { multiValueHeaders: { 'Idempotency-Key': values }, requestContext: { requestId: 'R1', path: '/' } } as unknown as APIGatewayProxyEvent,
    {} as Context,
    { protocol: 'proto' },
  );

describe('Idempotency-Key', () => {
  test.each([
    ['none', [], undefined],
    ['255 characters', ['k'.repeat(255)], 'k'.repeat(255)],
    ['every visible character', ['!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~'], '!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~'],
  ])('Idempotency-Key is read: %s', (_, values, key) => {
    expect(readIdempotencyKey(requestWith(...values))).toBe(key);
  });

  const grammar = 'the header Idempotency-Key must have 1 to 255 visible ASCII characters';
  test.each([
    ['empty', [''], grammar],
    ['256 characters', ['k'.repeat(256)], grammar],
    ['a space', ['a b'], grammar],
    ['no ASCII', ['schlüssel'], grammar],
    ['two of them', ['a', 'b'], 'the header idempotency-key must be sent once'],
  ])('Idempotency-Key is refused: %s', (_, values, problem) => {
    const refusal = { name: 'ApiError', code: 'INVALID_PARAMETER', status: 400, details: { issues: [{ path: '', problem }] } };
    expect(() => readIdempotencyKey(requestWith(...values))).toThrow(expect.objectContaining(refusal));
  });
});

test.each([
  ['agent-a', 'one'],
  ['agent-a', 'two'],
  ['agent-b', 'one'],
  ['agent-b', '123e4567-e89b-42d3-a456-426614174000'],
])('the UUID of %s for %s is the start of its digest, with the version and variant of RFC 9562', (account, key) => {
  const uuid = upstreamUuidOf(account, key);
  expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const digest = Buffer.from(upstreamKeyOf(account, key), 'base64url').toString('hex');
  const withoutMarks = (hex: string) => hex.replaceAll('-', '').replace(/^(.{12}).(.{3}).(.{15}).*$/, '$1$2$3');
  expect(withoutMarks(uuid)).toBe(withoutMarks(digest));
});

test('a fingerprint depends on what is requested, not on how it is spelt', () => {
  const fingerprint = fingerprintOf('a:b:v1', { x: 1, y: ['é', null] });
  expect(fingerprint).toMatch(/^[\w-]{43}$/);
  expect(fingerprintOf('a:b:v1', { y: ['é', null], x: 1.0 })).toBe(fingerprint);
  const others = [
    ['a:b:v2', { x: 1, y: ['é', null] }],
    ['a:b:v1', { x: '1', y: ['é', null] }],
    ['a:b:v1', { x: 1, y: [null, 'é'] }],
    ['a:b:v1', { x: 1 }],
  ] as const;
  for (const [uid, parameters] of others) expect(fingerprintOf(uid, parameters)).not.toBe(fingerprint);
});

describe('a request whose key has been used', () => {
  const outcomeNotStored = 'The call was made, and its answer was too large to keep. A new Idempotency-Key would make another call.';
  const other = 'This Idempotency-Key was used for another request in the last 24 hours. Use a separate key for each request.';
  const running = 'The first request under this Idempotency-Key is still running. Send it again after Retry-After seconds.';
  const unknown =
    'The first request under this Idempotency-Key was interrupted: its outcome is unknown, and it will not be executed again. Find out whether it took effect before you send it under a new key.';
  const executionId = '01J';
  test.each<{ held: UsedKey; reason: string; message: string; headers?: object }>([
    { held: { state: 'not_stored', executionId }, reason: 'not_stored', message: outcomeNotStored },
    { held: { state: 'conflict', executionId }, reason: 'other_request', message: other },
    { held: { state: 'running', retryAfterSeconds: 3, executionId }, reason: 'running', message: running, headers: { 'Retry-After': '3' } },
    { held: { state: 'unknown', executionId }, reason: 'outcome_unknown', message: unknown },
  ])('a repeated request is refused with 409 if the first one is $held', ({ held, reason, message, headers = {} }) => {
    const details = expect.objectContaining({ reason });
    const refusal = { name: 'ApiError', code: 'CONFLICT', status: 409, message, details, headers: expect.objectContaining(headers) };
    expect(() => answerUsedKey(held, 'https://gate.example')).toThrow(expect.objectContaining(refusal));
  });
});
