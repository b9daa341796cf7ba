import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type KeyedRequest,
  newCall,
  type Outcome,
  openIdempotentCalls,
} from '../../../../functions/core/execution/idempotent-call-store.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import { startTable } from '../../../support/table.ts';

const startMs = Date.UTC(2026, 0, 1);
const dayMs = 24 * 3_600_000;
const answer: Outcome = { status: 200, body: { text: 'Grüezi', parts: [1, null, true] }, headers: { 'Execution-Id': 'E1' } };

const store = await startTable();
const calls = openIdempotentCalls(store.table);
let used = 0;

afterAll(() => store.stop());
beforeEach(() => {
  used++;
  store.operations.length = 0;
});

/** A request under this test's key, by a new execution. */
const requestOf = (executionId: string, more: Partial<KeyedRequest> = {}): KeyedRequest => ({
  account: 'thumbprint-1',
  key: `key-${used}`,
  executionId,
  fingerprint: 'asked',
  nowMs: startMs,
  ...more,
});

describe('a key', () => {
  test('a key is taken with one write and replays the answer with one refused write and one read', async () => {
    expect(await calls.find(requestOf('E1'))).toEqual({ state: 'free' });
    store.operations.length = 0;
    expect(await calls.begin(requestOf('E1'))).toEqual({ state: 'started' });
    expect(await calls.finish(requestOf('E1'), answer)).toBe(true);
    expect(await calls.begin(requestOf('E2', { nowMs: startMs + 1_000 }))).toEqual({ state: 'replay', outcome: answer, executionId: 'E1' });
    expect(store.operations).toEqual(['PutItem', 'UpdateItem', 'PutItem', 'GetItem']);
    store.operations.length = 0;
    expect(await calls.find(requestOf('E3'))).toEqual({ state: 'replay', outcome: answer, executionId: 'E1' });
    expect(store.operations).toEqual(['GetItem']);
  });

  test('a key replays refusals too, whose fault stays that of the upstream', async () => {
    await calls.begin(requestOf('E1'));
    const refusal = new ApiError('INTENT_EXECUTION_FAILED', 'The upstream did not answer in time.', {
      status: 502,
      details: { reason: 'deadline' },
      fault: 'upstream',
      headers: { 'Execution-Id': 'E1' },
      cause: new Error('kept for the log'),
    });
    await calls.finish(requestOf('E1'), refusal);
    const held = await calls.begin(requestOf('E2'));
    expect(held).toMatchObject({ state: 'replay' });
    const { outcome } = held as { outcome: ApiError };
    expect(outcome).toBeInstanceOf(ApiError);
    expect({ ...outcome, message: outcome.message, cause: outcome.cause }).toEqual({
      name: 'ApiError',
      code: 'INTENT_EXECUTION_FAILED',
      status: 502,
      message: 'The upstream did not answer in time.',
      details: { reason: 'deadline' },
      headers: { 'Execution-Id': 'E1' },
      fault: 'upstream',
      cause: undefined,
    });
  });

  test.each([
    ['another request once it has ended', true, { fingerprint: 'other' }, { state: 'conflict' }],
    ['the same request at once', false, {}, { state: 'running', retryAfterSeconds: 1 }],
    ['the same request 9.5 seconds later', false, { nowMs: startMs + 9_500 }, { state: 'running', retryAfterSeconds: 10 }],
    ['the same request a minute later', false, { nowMs: startMs + 60_000 }, { state: 'unknown' }],
    ['the same request a day later', false, { nowMs: startMs + dayMs }, { state: 'started' }],
    ['another request a day later', true, { fingerprint: 'other', nowMs: startMs + dayMs }, { state: 'started' }],
    ['another key, of a call that has ended', true, { account: 'thumbprint-2' }, { state: 'started' }],
    ['the same request by a clock that is behind', false, { nowMs: startMs - 5_000 }, { state: 'running', retryAfterSeconds: 1 }],
  ])('the state of a key is known to %s', async (_, hasEnded, again, expected) => {
    await calls.begin(requestOf('E1'));
    if (hasEnded) await calls.finish(requestOf('E1'), answer);
    const executionId = expected.state === 'started' ? {} : { executionId: 'E1' };
    expect(await calls.begin(requestOf('E2', again))).toEqual({ ...expected, ...executionId });
  });
});

test('a key is freed only of a deferred call that has ended, and only by the execution that was answered', async () => {
  const held = { ...requestOf('E1'), isFreedByAnswer: true };
  const record = { ...newCall(held, 'waiting'), deferred: new Uint8Array([1]), until: startMs + 60_000 };
  const isFreed = async (more: object, ended = 'E1', nowMs = startMs) => {
    await store.table.put({ ...record, ...more });
    expect(await calls.free({ ...held, nowMs }, ended)).toBeDefined();
    return (await calls.find({ ...held, nowMs })).state === 'free';
  };
  const inMs = (ms: number) => startMs + ms;
  expect([await isFreed({}), await isFreed({}, 'E1', inMs(60_000))]).toEqual([false, true]);
  expect([await isFreed({ state: 'queued' }), await isFreed({ state: 'queued' }, 'E1', inMs(60_000))]).toEqual([false, true]);
  expect([await isFreed({ state: 'running' }), await isFreed({ state: 'running' }, 'E1', inMs(60_000))]).toEqual([false, false]);
  for (const state of ['done', 'denied', 'void']) expect([await isFreed({ state }), await isFreed({ state }, 'E2')]).toEqual([true, false]);
  expect(await isFreed({ state: 'done', deferred: undefined })).toBe(false);
});

describe('an answer', () => {
  const maxBytes = 1024 * 1024;

  test('an answer of 1 MiB of text is kept whole', async () => {
    const large: Outcome = { status: 200, body: { text: 'All work and no play. '.repeat(maxBytes / 22) } };
    await calls.begin(requestOf('E1'));
    expect(await calls.finish(requestOf('E1'), large)).toBe(true);
    expect(await calls.begin(requestOf('E2'))).toEqual({ state: 'replay', outcome: large, executionId: 'E1' });
  });

  test('an answer too large for an item is not kept, and is not requested again', async () => {
    await calls.begin(requestOf('E1'));
    expect(await calls.finish(requestOf('E1'), { status: 200, body: { data: randomBytes(maxBytes * 0.7).toString('base64') } })).toBe(true);
    expect(await calls.begin(requestOf('E2'))).toEqual({ state: 'not_stored', executionId: 'E1' });
  });

  test('an answer fits beside the longest key', async () => {
    const longest = { account: 't'.repeat(43), key: 'k'.repeat(255) };
    await calls.begin(requestOf('E1', longest));
    const startBytes = 385_000;
    let bytes = startBytes;
    // random bytes in base64 compress to little more than the bytes: grow until they are no longer kept
    for (let isKept = true; isKept; bytes += 4_000) {
      await store.table.delete(keys.call(longest.account, longest.key));
      await calls.begin(requestOf('E1', longest));
      await calls.finish(requestOf('E1', longest), { status: 200, body: randomBytes(bytes).toString('base64') });
      isKept = (await calls.begin(requestOf('E2', longest))).state === 'replay';
    }
    expect(bytes).toBeGreaterThan(startBytes + 4_000);
  });
});
