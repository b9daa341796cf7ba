import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../../bin/local/http.ts';
import type { IntentGateError } from '../../../client/errors.ts';
import { type Api, openApi } from '../../../registry/api.ts';

let server: Server;
afterEach(() => close(server));

const refusal = (code: string, details: object = {}) => JSON.stringify({ error: { code, message: `Because of ${code}.`, details } });

type Answer = [status: number, body: string, headers?: Record<string, string>] | 'reset';

/** A server that returns prepared responses in order, and records its requests. */
async function openService(answers: Answer[]): Promise<{ api: Api; asked: string[]; waitedMs: number[] }> {
  const asked: string[] = [];
  const waitedMs: number[] = [];
  server = createServer((request, response) => {
    const answer = answers[asked.length] ?? [500, ''];
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? '-'}`);
    if (answer === 'reset') request.socket.destroy();
    else response.writeHead(answer[0], answer[2]).end(answer[1]);
  });
  const tokens = { get: async (renew = false) => (renew ? 'fresh' : 'old') };
  const baseUrl = `http://127.0.0.1:${await listen(server)}`;
  return { api: openApi(baseUrl, tokens, { sleep: async (ms) => waitedMs.push(ms) }), asked, waitedMs };
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

  test('a call eventually gives up', async () => {
    const { api, asked } = await openService(Array.from({ length: 20 }, (): Answer => [503, refusal('SERVICE_UNAVAILABLE')]));
    expect(await failureOf(api.call('GET', '/x'))).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
    expect(asked).toHaveLength(8);
  });
});
