import { afterAll, expect, test } from '@jest/globals';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import * as z from 'zod';
import { startInvocations } from '../../../../bin/local/invocations.ts';
import { forwardToFunction } from '../../../../functions/core/http/forward-to-function.ts';
import { innerRequest } from '../../../../functions/core/http/inner-request.ts';
import { type ApiResponse, ok } from '../../../../functions/core/http/response.ts';
import { type Action, serve } from '../../../../functions/core/http/serve.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import { invoke, refusalOf } from '../../../support/invoke.ts';

const refusal = new ApiError('TOO_MANY_REQUESTS', 'Later.', {
  details: { reason: 'busy' },
  headers: { 'Retry-After': '7', 'X-Request-Id': 'of another' },
});

const slow = Promise.withResolvers<ApiResponse>();

/** The functions of this Lambda, by their names. */
const functions: Record<string, Action> = {
  read: async (request) =>
    ok({ method: request.method, query: request.query(z.object({ query: z.string() })), id: request.requestId, at: request.baseUrl }),
  write: async (request) => ok({ body: request.json(), proof: request.header('dpop'), pat: request.header('authorization') }),
  'arn:aws:lambda:eu-west-1:123456789012:function:Gate-issuepat-1:live': async () => ok({ asked: 'alias' }),
  refuse: () => Promise.reject(refusal),
  slow: () => slow.promise,
};

const started = await startInvocations(async (name, event) => {
  const action = functions[name];
  if (!action) throw new Error('no such function');
  const context = { getRemainingTimeInMillis: () => 1_000 } as Context;
  return JSON.stringify(await serve(action, { protocol: 'proto' })(event as APIGatewayProxyEvent, context));
});
process.env.AWS_ENDPOINT_URL_LAMBDA = started.endpoint;
afterAll(async () => {
  slow.resolve(ok({}));
  delete process.env.AWS_ENDPOINT_URL_LAMBDA;
  await started.stop();
});

const ask = (name: string, { method = 'POST' as 'GET' | 'POST', timeoutMs = 5_000 } = {}): Action =>
  forwardToFunction(name, { method, path: '/asked', timeoutMs });

const asked = { body: { a: [1] }, headers: { DPoP: 'a.b.c', Authorization: 'Bearer secret' } };

test('a GET is forwarded with its query, request id and address', async () => {
  const reading: Action = (request) => ask('read', { method: 'GET' })(innerRequest(request, { query: { query: 'größe & more' } }));
  expect((await invoke(reading, 'GET /here')).body).toEqual({
    method: 'GET',
    query: { query: 'größe & more' },
    id: 'request-1',
    at: 'https://api.example/test',
  });
});

test('a POST is forwarded with its body and proof, and without its PAT', async () => {
  expect((await invoke(ask('write'), 'POST /mcp', asked)).body).toEqual({ body: { a: [1] }, proof: 'a.b.c' });
});

test('a PAT is forwarded if the answer depends on it', async () => {
  const target = { method: 'POST', path: '/asked', timeoutMs: 5_000, isWithToken: true } as const;
  expect((await invoke(forwardToFunction('write', target), 'POST /mcp', asked)).body).toMatchObject({ pat: 'Bearer secret' });
});

test('an alias is invoked by its ARN', async () => {
  const arn = 'arn:aws:lambda:eu-west-1:123456789012:function:Gate-issuepat-1:live';
  expect((await invoke(ask(arn), 'POST /mcp', asked)).body).toEqual({ asked: 'alias' });
});

test('a refusal is passed on with its headers', async () => {
  const answer = await invoke(ask('refuse'), 'POST /mcp', asked);
  expect(refusalOf(answer)).toEqual({ status: 429, code: 'TOO_MANY_REQUESTS', message: 'Later.', details: { reason: 'busy' } });
  expect(answer.headers).toMatchObject({ 'Retry-After': '7', 'X-Request-Id': 'request-1' });
});

test.each<[string, () => Action]>([
  ['fails', () => ask('nobody')],
  ['is late', () => ask('slow', { timeoutMs: 50 })],
  [
    'is nowhere',
    () => {
      process.env.AWS_ENDPOINT_URL_LAMBDA = 'http://127.0.0.1:9';
      return ask('read');
    },
  ],
])('a request is answered with 503 if the function %s', async (_, open) => {
  const answer = await invoke(open(), 'POST /mcp', asked);
  expect(refusalOf(answer)).toEqual({
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'Another part of the gate cannot be reached. Try again after Retry-After.',
    details: {},
  });
  expect(answer.headers).toMatchObject({ 'Retry-After': '1' });
});
