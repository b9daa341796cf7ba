import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../../bin/local/http.ts';
import type { IntentGateError } from '../../../client/errors.ts';
import { type Api, openApi } from '../../../registry/api.ts';
import { CliFailure, NotSignedIn } from '../../../registry/failure.ts';

let server: Server;
afterEach(() => close(server));

const refusal = (code: string, details: object = {}) => JSON.stringify({ error: { code, message: `Because of ${code}.`, details } });

type Answer = [status: number, body: string, headers?: Record<string, string>] | 'reset';

/** A server that returns prepared responses in order, and records its requests. */
async function openService(
  answers: Answer[],
  get = async (renew = false): Promise<string> => (renew ? 'fresh' : 'old'),
): Promise<{ api: Api; asked: string[]; waitedMs: number[] }> {
  const asked: string[] = [];
  const waitedMs: number[] = [];
  server = createServer((request, response) => {
    const answer = answers[asked.length] ?? [500, ''];
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? '-'}`);
    if (answer === 'reset') request.socket.destroy();
    else response.writeHead(answer[0], answer[2]).end(answer[1]);
  });
  const baseUrl = `http://127.0.0.1:${await listen(server)}`;
  return { api: openApi(baseUrl, { get }, { sleep: async (ms) => waitedMs.push(ms) }), asked, waitedMs };
}

const failureOf = (call: Promise<unknown>): Promise<IntentGateError> =>
  call.then(
    () => Promise.reject(new Error('succeeded')),
    (error) => error,
  );

describe('a call', () => {
  test('a call sends the request and returns the response', async () => {
    const { api, asked } = await openService([
      [200, '{"a":1}', { ETag: '"1"' }],
      [204, ''],
    ]);
    const { status, body, headers } = await api.call('GET', '/x', { query: { q: 'a b', none: undefined, empty: '' } });
    expect({ status, body, etag: headers.get('etag') }).toEqual({ status: 200, body: { a: 1 }, etag: '"1"' });
    expect((await api.call('DELETE', '/x', { isAdmin: true })).body).toBeUndefined();
    expect(asked).toEqual(['GET /x?q=a+b -', 'DELETE /x Bearer old']);
  });

  test('a call waits for Retry-After, then retries', async () => {
    const { api, asked, waitedMs } = await openService([
      [429, refusal('TOO_MANY_REQUESTS'), { 'Retry-After': '7' }],
      [504, refusal('GATEWAY_TIMEOUT'), { 'Retry-After': '60' }],
      [503, 'no JSON'],
      'reset',
      [200, '{}'],
    ]);
    expect((await api.call('PUT', '/x', { body: {} })).status).toBe(200);
    expect(asked).toHaveLength(5);
    expect(waitedMs.slice(0, 2)).toEqual([7_000, 60_000]);
    expect(waitedMs).toHaveLength(4);
  });

  test('a call renews a refused token once', async () => {
    const { api, asked } = await openService([
      [401, refusal('UNAUTHORIZED')],
      [401, refusal('UNAUTHORIZED')],
    ]);
    expect(await failureOf(api.call('PUT', '/x', { isAdmin: true }))).toMatchObject({
      status: 401,
      code: 'UNAUTHORIZED',
    });
    expect(asked).toEqual(['PUT /x Bearer old', 'PUT /x Bearer fresh']);
  });

  const ended = new CliFailure('credentials', 'The session has ended.');
  test.each<[string, () => Promise<string>, Answer[], object, number]>([
    ['is made without a token if nobody is signed in', () => Promise.reject(new NotSignedIn('No.')), [[200, '{}']], { status: 200 }, 1],
    [
      'is made without one of somebody who is no admin',
      async () => 'some',
      [
        [403, refusal('FORBIDDEN')],
        [200, '{}'],
      ],
      { status: 200 },
      2,
    ],
    ['fails if the session has ended', () => Promise.reject(ended), [], { message: 'The session has ended.' }, 0],
    [
      'fails if a renewed token is refused',
      async () => 'some',
      [
        [401, refusal('UNAUTHORIZED')],
        [401, refusal('UNAUTHORIZED')],
      ],
      { status: 401 },
      2,
    ],
  ])('a read by those who are signed in %s, so that drafts never seem missing', async (_, get, answers, expected, count) => {
    const { api, asked } = await openService(answers, get);
    const outcome = await api.call('GET', '/x', { isAdmin: 'if signed in' }).catch((error: unknown) => error);
    expect([outcome, asked.length]).toMatchObject([expected, count]);
  });

  test('a call eventually gives up', async () => {
    const { api, asked } = await openService(Array.from({ length: 20 }, (): Answer => [503, refusal('SERVICE_UNAVAILABLE')]));
    expect(await failureOf(api.call('GET', '/x'))).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
    expect(asked).toHaveLength(8);
  });
});
