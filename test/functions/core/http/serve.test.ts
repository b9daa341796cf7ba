import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { ok, revalidated } from '../../../../functions/core/http/response.ts';
import { type Action, serve, serveSchedule } from '../../../../functions/core/http/serve.ts';
import { CallFailed } from '../../../../functions/core/relay/call-failure.ts';
import { ApiError, unavailable } from '../../../../functions/core/runtime/api-error.ts';
import { currentSignal } from '../../../../functions/core/runtime/invocation.ts';
import { errorBody } from '../../../../schemas/error-body.ts';
import type { ErrorCode } from '../../../../schemas/errors.ts';
import { pageQuery } from '../../../../schemas/pagination.ts';
import { serviceInput } from '../../../../schemas/service.ts';
import { captureLog } from '../../../support/capture-log.ts';
import { readEmbeddedMetrics } from '../../../support/embedded-metrics.ts';
import { type Call, eventOf, invoke } from '../../../support/invoke.ts';

const canary = 'canary-4f1d';
const valid = { service_name: 'World', service_url: 'https://world.example', description: 'Facts' };
const echo: Action = async (request) => ok(request.body(serviceInput));
const json = { 'Content-Type': 'application/json' };
const post = (body: string | undefined, headers: Call['headers'] = json) =>
  invoke(echo, 'POST /api/services', { headers, ...(body !== undefined && { body }) });

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a body', () => {
  test.each([
    ['as JSON', json],
    ['with a charset', { 'content-type': 'application/json; charset=UTF-8' }],
    ["as the protocol's own JSON", { 'content-type': 'application/Proto+json; charset=utf-8' }],
    ['with another name of the charset', { 'content-type': 'application/json;charset=utf8' }],
    ['with a quoted charset', { 'CONTENT-TYPE': 'Application/JSON;charset="utf-8"' }],
  ])('a body is accepted %s', async (_, headers) => {
    expect(await post(JSON.stringify(valid), headers)).toMatchObject({ status: 200, body: valid });
  });

  test.each<[string, Record<string, string>]>([
    ['no media type', {}],
    ['text', { 'Content-Type': 'text/plain' }],
    ["another protocol's JSON", { 'Content-Type': 'application/other+json' }],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['JSON of a kind', { 'Content-Type': 'application/ld+json' }],
    ['another charset', { 'Content-Type': 'application/json; charset=utf-16' }],
  ])('a body is refused: %s', async (_, headers) => {
    expect(await post(JSON.stringify(valid), headers)).toMatchObject({
      status: 415,
      body: {
        error: {
          code: 'UNSUPPORTED_MEDIA_TYPE',
          message: 'Send the body as JSON in UTF-8, with the header Content-Type: application/json.',
        },
      },
    });
  });

  const jsonMessage = 'The body is not acceptable JSON. Correct the problems in details.issues, then send it again.';
  const message = 'The request is not valid. Correct every problem in details.issues, then send it again.';
  test.each<{ what: string; body: string | undefined; expected: string; issues: { path: string; problem: string }[] }>([
    {
      what: 'nothing',
      body: undefined,
      expected: jsonMessage,
      issues: [{ path: '', problem: 'is not JSON: at line 1, column 1, the text ends; expected a value' }],
    },
    { what: 'a list', body: '[]', expected: message, issues: [{ path: '', problem: 'must be a JSON object' }] },
    {
      what: 'everything wrong at once',
      body: JSON.stringify({ service_name: '', service_url: 'ftp://x', description: 1, service_id: canary, rev: 1 }),
      expected: message,
      issues: [
        { path: '/service_name', problem: 'must not be empty' },
        { path: '/service_url', problem: 'must be an absolute http or https URL without user information' },
        { path: '/description', problem: 'must be a string' },
        { path: '/service_id', problem: 'is not a known member; remove it' },
        { path: '/rev', problem: 'is not a known member; remove it' },
      ],
    },
  ])('a body of $what is refused', async ({ body, expected, issues }) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INVALID_PARAMETER', message: expected, details: { issues } } } });
    expect(answer.body.error.details.issues).toEqual(issues);
    expect(JSON.stringify(answer.body)).not.toContain(canary);
  });

  test('a body may have 262,144 bytes and no more', async () => {
    const sized = (size: number) => {
      const empty = JSON.stringify({ ...valid, pad: '' });
      return JSON.stringify({ ...valid, pad: 'x'.repeat(size - empty.length) });
    };
    expect(await post(sized(262_144))).toMatchObject({ status: 400, body: { error: { details: { issues: [{ path: '/pad' }] } } } });
    expect(await post(sized(262_145))).toMatchObject({
      status: 413,
      body: { error: { code: 'INVALID_PARAMETER', message: 'The body is larger than 262144 bytes. Send less.' } },
    });
  });

  test.each([
    ['JSON', Buffer.from(JSON.stringify(valid)), 200],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400],
    ['compressed', gzipSync(JSON.stringify(valid)), 400],
  ])('a body in base64 from the gateway is decoded: %s', async (_, bytes, status) => {
    const event = { ...eventOf('POST /api/services', { headers: json }), body: bytes.toString('base64'), isBase64Encoded: true };
    const answer = await serve(echo, { protocol: 'proto' })(event, {} as Context);
    expect(answer.statusCode).toBe(status);
    if (status === 400)
      expect(errorBody.parse(JSON.parse(answer.body)).error.details?.issues).toEqual([
        { path: '', problem: 'must be valid UTF-8; no Content-Encoding is supported' },
      ]);
  });
});

describe('query parameters', () => {
  const steps: Action = async (request) => ok(request.query(pageQuery));
  const list = (query: Call['query']) => invoke(steps, 'GET /', { ...(query && { query }) });
  const page = 'must be a whole number from 1 to 1000000000';

  const pageSize = 'must be a whole number from 1 to 100';
  const use = (name: string) => `is not a parameter of this endpoint: use ${name}, or follow the Link header`;

  test.each<[string, Call['query'], object]>([
    ['none', undefined, { page: 1, page_size: 10 }],
    ['known and unknown ones', { page: '3', page_size: '100', unknown: 'x' }, { page: 3, page_size: 100 }],
    ['empty ones', { page: '', page_size: '', skip: '', limit: '', unknown: ['a', 'b'] }, { page: 1, page_size: 10 }],
  ])('query parameters are read: %s', async (_, query, expected) => {
    expect((await list(query)).body).toEqual(expected);
  });

  test.each<[string, Call['query'], Record<string, string>]>([
    ['zero', { page: '0' }, { '/page': page }],
    ['a number with more', { page: '10abc' }, { '/page': page }],
    ['numbers that are too large', { page: '1000000001', page_size: '101' }, { '/page': page, '/page_size': pageSize }],
    ['one that is sent twice', { page: ['1', '2'] }, { '/page': 'must be given once' }],
    ['names of other APIs', { limit: '10', skip: ['10', '20'] }, { '/skip': use('page'), '/limit': use('page_size') }],
  ])('query parameters are refused: %s', async (_, query, problems) => {
    const issues = Object.entries(problems).map(([path, problem]) => ({ path, problem }));
    expect(await list(query)).toMatchObject({ status: 400, body: { error: { code: 'INVALID_PARAMETER', details: { issues } } } });
  });
});

describe('an error', () => {
  test('an unexpected error reveals nothing, and logs only its place', async () => {
    const lines = captureLog();
    const failing: Action = async () => {
      throw new TypeError(canary, { cause: Object.assign(new Error(canary), { code: 'ECODE' }) });
    };
    const answer = await invoke(failing, 'GET /', { headers: { Authorization: canary, 'X-Secret': canary } });
    expect(answer).toMatchObject({
      status: 500,
      body: {
        error: {
          code: 'INTERNAL_SERVER_ERROR',
          message:
            'The gate has failed. If the request makes a change or a call, first check whether it was made; then try again. If the problem persists, give details.request_id to the operators.',
          details: { reference: 'PROTO-SRV-001', request_id: 'request-1' },
        },
      },
    });
    expect(lines).toHaveLength(1);
    expect(lines.join()).not.toContain(canary);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      status: 500,
      cause: { name: 'TypeError', cause: { name: 'Error', code: 'ECODE' } },
    });
    expect(JSON.stringify(answer.body)).not.toContain(canary);
  });

  test('an error of a dependency says when to try again, and logs its cause', async () => {
    const lines = captureLog();
    const answer = await invoke(() => Promise.reject(unavailable('Down. Try again.', new RangeError(canary))), 'GET /');
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '1' },
      body: { error: { code: 'SERVICE_UNAVAILABLE', message: 'Down. Try again.' } },
    });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { name: 'RangeError' } });
    expect(lines.join()).not.toContain(canary);
  });

  test('an error cannot override request id and reference by details', async () => {
    const error = new ApiError('NOT_FOUND', 'No.', { details: { request_id: 'forged', reference: 'forged' } });
    const answer = await invoke(() => Promise.reject(error), 'GET /');
    expect(answer.body.error.details).toEqual({ request_id: 'request-1', reference: 'PROTO-RES-001' });
  });
});

describe('attributed failures', () => {
  const code = 'SERVICE_UNAVAILABLE';
  const answered = (status: number) => ({ details: { upstream_status: status } });
  test.each<[string, Error, object]>([
    ['to the gate', unavailable('No.'), { level: 'ERROR', code }],
    ['to the gate, which made no call', new CallFailed('late'), { level: 'ERROR', code }],
    ['to an upstream', new CallFailed('resting').withHeaders({ 'Execution-Id': '1' }), { level: 'INFO', code, fault: 'upstream' }],
    [
      'to an upstream that answered',
      new ApiError(code, 'No.', answered(429)).withDetails({ nearest: [] }),
      { level: 'INFO', code, fault: 'upstream' },
    ],
    ["to nobody, if it is the caller's", new ApiError('NOT_FOUND', 'No.', answered(404)), { level: 'INFO', code: 'NOT_FOUND' }],
  ])('the log attributes a failure %s', async (_, error, expected) => {
    const lines = captureLog();
    await invoke(() => Promise.reject(error), 'GET /');
    const { level, code, fault } = JSON.parse(lines[0] ?? '');
    expect({ level, code, fault }).toEqual({ fault: undefined, ...expected });
  });
});

describe('counted refusals', () => {
  const code = 'SERVICE_UNAVAILABLE';
  const refusal = (name: ErrorCode) => () => Promise.reject(new ApiError(name, 'No.', { details: { code: canary } }));
  const counted = (name: ErrorCode) => [{ namespace: 'Gate-1', metric: 'Refusals', dimensions: { code: name }, value: 1 }];
  afterEach(() => {
    delete process.env.METRIC_NAMESPACE;
  });

  test.each<[string, Action, object[]]>([
    ["the caller's mistake", refusal('NOT_FOUND'), counted('NOT_FOUND')],
    ['a refused token', refusal('UNAUTHORIZED'), counted('UNAUTHORIZED')],
    ['an unreachable dependency', () => Promise.reject(unavailable('No.', new Error(canary))), counted(code)],
    ['an unexpected error', () => Promise.reject(Object.assign(new Error(canary), { code: canary })), counted('INTERNAL_SERVER_ERROR')],
    ['a thrown text', () => Promise.reject(canary), counted('INTERNAL_SERVER_ERROR')],
    ['not the failure of an upstream', () => Promise.reject(new ApiError(code, 'No.', { details: { upstream_status: 500 } })), []],
    ['not a success', async () => ok({ code: canary }), []],
  ])('a refusal is counted by its code, the only dimension: %s', async (_, action, expected) => {
    process.env.METRIC_NAMESPACE = 'Gate-1';
    const lines = captureLog();
    await invoke(action, `GET /${canary}`);
    expect(lines).toHaveLength(1);
    expect(readEmbeddedMetrics(lines[0] ?? '')).toEqual(expected);
  });

  test('a refusal is not counted if the gate has no namespace, as in the local stack', async () => {
    const lines = captureLog();
    await invoke(refusal('NOT_FOUND'), 'GET /');
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      ...{ level: 'INFO', message: 'answered', timestamp: expect.any(String), service: 'intent-gate' },
      ...{ request_id: 'request-1', endpoint: 'GET /', status: 404, duration_ms: expect.any(Number), code: 'NOT_FOUND' },
    });
  });
});

test.each(['a\r\nb', '"}{"'])('a log line stays one JSON object with %j in the path', async (text) => {
  const lines = captureLog();
  await invoke(async () => ok({}), `GET ${text}`);
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toMatch(/[\n\r]/);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ message: 'answered', endpoint: `GET ${text}` });
});

describe('a conditional read', () => {
  const steps: Action = async () => revalidated({ a: 1 }, '"tag"');

  test.each([
    ['"tag"', 304],
    ['W/"tag"', 304],
    ['"other", "tag"', 304],
    ['*', 304],
    ['"other"', 200],
    ['tag', 200],
  ])('If-None-Match: %s is answered %i', async (field, status) => {
    const answer = await invoke(steps, 'GET /', { headers: { 'If-None-Match': field } });
    expect(answer).toMatchObject({ status, headers: { ETag: '"tag"', 'Cache-Control': 'no-cache' } });
    expect(answer.body).toEqual(status === 200 ? { a: 1 } : undefined);
  });

  test('a conditional read answers 304 without headers about the content', async () => {
    const headers = { Link: '<next>', Vary: 'Accept', 'Content-Language': 'en' };
    const paged: Action = async () => revalidated({ a: 1 }, '"tag"', headers);
    const event = eventOf('GET /', { headers: { 'If-None-Match': '"tag"', Origin: 'https://a.example' } });
    const { headers: sent } = await serve(paged, { protocol: 'proto', allowedOrigins: 'https://a.example' })(event, {} as Context);
    expect(sent).toEqual({
      ETag: '"tag"',
      'Cache-Control': 'no-cache',
      Vary: 'Accept, Origin',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': 'request-1',
      'Strict-Transport-Security': 'max-age=31536000',
      'Access-Control-Allow-Origin': 'https://a.example',
      'Access-Control-Expose-Headers': '*',
    });
  });
});

test('responses over http have no Strict-Transport-Security', async () => {
  const handler = serve(async () => ok({}), { protocol: 'proto', baseUrl: 'http://127.0.0.1:8080' });
  expect((await handler(eventOf('GET /'), {} as Context)).headers).not.toHaveProperty('Strict-Transport-Security');
});

const context = { getRemainingTimeInMillis: () => 540 } as Context;

test('an invocation that runs out of time is aborted, refused and logged', async () => {
  const lines = captureLog();
  let signal: AbortSignal | undefined;
  const steps: Action = async () => {
    signal = currentSignal();
    return new Promise(() => {});
  };
  const handler = serve(steps, { protocol: 'proto', baseUrl: 'https://gate.example', allowedOrigins: '*' });
  const { statusCode, headers, body } = await handler(eventOf('GET /'), context);
  expect({ statusCode, headers, body: JSON.parse(body) }).toEqual({
    statusCode: 503,
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': 'request-1',
      'Strict-Transport-Security': 'max-age=31536000',
      'Retry-After': '1',
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': '*',
    },
    body: {
      error: {
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringMatching(/^The gate ran out of time .* Try again after Retry-After; /),
        details: { reference: 'PROTO-SRV-002', request_id: 'request-1' },
        help_url: 'https://gate.example/docs#SERVICE_UNAVAILABLE',
      },
    },
  });
  expect(signal?.aborted).toBe(true);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ message: 'answered', status: 503, code: 'SERVICE_UNAVAILABLE' }]);
});

describe('a run on a schedule', () => {
  test('a run on a schedule is logged', async () => {
    const lines = captureLog();
    await serveSchedule(async () => {})({}, context);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'INFO', message: 'ran', duration_ms: expect.any(Number) }]);
  });

  test('a run on a schedule that fails is an error of the function, and is logged without its message', async () => {
    const lines = captureLog();
    const failure = new RangeError(canary);
    await expect(serveSchedule(() => Promise.reject(failure))({}, context)).rejects.toBe(failure);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'ERROR', message: 'failed', cause: { name: 'RangeError' } }]);
    expect(lines.join()).not.toContain(canary);
  });

  test('a run on a schedule that runs out of time is aborted, and is an error', async () => {
    captureLog();
    let signal: AbortSignal | undefined;
    const run = async () => {
      signal = currentSignal();
      await new Promise(() => {});
    };
    await expect(serveSchedule(run)({}, context)).rejects.toThrow('The gate ran out of time');
    expect(signal?.aborted).toBe(true);
  });
});

describe('the base URL', () => {
  const steps: Action = async ({ baseUrl }) => ok({ baseUrl });
  const at = async (requestContext: object, configured?: string) => {
    const event = { ...eventOf('GET /x'), requestContext: { ...eventOf('GET /x').requestContext, ...requestContext } };
    const settings = { protocol: 'proto', ...(configured && { baseUrl: configured }) };
    return JSON.parse((await serve(steps, settings)(event as never, {} as Context)).body).baseUrl;
  };

  test('the base URL is, of several configured ones, the one that was called, or else the first', async () => {
    const configured = 'http://127.0.0.1:8080,http://localhost:8080';
    const called = ['localhost:8080', '127.0.0.1:8080', 'localhost:9', 'evil.example', 'http://localhost:8080', ''];
    expect(await Promise.all(called.map((domainName) => at({ domainName }, configured)))).toEqual(
      ['localhost', ...called.slice(1).map(() => '127.0.0.1')].map((host) => `http://${host}:8080`),
    );
  });

  test('the base URL includes the stage if the path does', async () => {
    expect(await at({ domainName: 'a.execute-api.eu-west-1.amazonaws.com', stage: 'v1', path: '/v1/x' })).toBe(
      'https://a.execute-api.eu-west-1.amazonaws.com/v1',
    );
    expect(await at({ domainName: 'gate.example', stage: 'v1', path: '/x' })).toBe('https://gate.example');
    expect(await at({ domainName: 'gate.example', stage: 'v1', path: '/v1x' })).toBe('https://gate.example');
  });

  test.each(['gate.example', 'Gate.Example.:443'])('the base URL is the same for any spelling of the host: %s', async (domainName) => {
    expect(await at({ domainName, stage: 'v1', path: '/x' })).toBe('https://gate.example');
  });
});

test('path variables are decoded once, and must be UTF-8', async () => {
  const steps: Action = async (request) => ok({ id: request.pathParameter('id') });
  expect((await invoke(steps, 'GET /{id}', { path: { id: 'a:b%25' } })).body).toEqual({ id: 'a:b%25' });
  const event = { ...eventOf('GET /{id}'), pathParameters: { id: '%FF' } };
  expect(await serve(steps, { protocol: 'proto' })(event, {} as Context)).toMatchObject({ statusCode: 400 });
});

test('a union reports the issues of the branch that was meant', async () => {
  const steps: Action = async (request) =>
    ok(request.body(z.strictObject({ endpoint: z.union([z.string(), z.strictObject({ url: z.string(), method: z.enum(['GET']) })]) })));
  const answer = await invoke(steps, 'POST /', { headers: json, body: '{"endpoint":{"url":"x","method":"HEAD"}}' });
  expect(answer.body.error.details.issues).toEqual([{ path: '/endpoint/method', problem: 'must be one of "GET"' }]);
});
