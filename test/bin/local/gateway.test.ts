import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { gunzipSync, inflateSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type ApiDefinition, type Integration, patternOf, type Resource, type StaticAnswer } from '../../../bin/local/api-definition.ts';
import { type Answered, type RunningGateway, startGateway } from '../../../bin/local/gateway.ts';
import { LambdaFailure, LambdaThrottled, LambdaTimeout } from '../../../bin/local/lambda.ts';

const gatewayAnswer = (type: string, status?: number): [string, StaticAnswer] => [
  type,
  {
    status,
    headers: { 'X-Request-Id': 'context.requestId', 'X-Fixed': "'yes'" },
    body: `{"type":"${type}","id":"$context.requestId","error":{"code":"${type}","details":{"request_id":"$context.requestId"}}}`,
  },
];

const lambda: Integration = { kind: 'lambda', functionId: 'Function' };
const refusal: Integration = {
  kind: 'mock',
  answer: { status: 405, headers: { Allow: "'POST'" }, body: '{"type":"refusal"}' },
  mediaTypes: ['application/json', 'text/plain'],
};
const preflight: Integration = {
  kind: 'mock',
  answer: {
    status: 204,
    headers: { 'Access-Control-Allow-Origin': "'https://a.example'" },
    body: '#if($origin == "https://a.example" || $origin == "https://b.example")#set($context.responseOverride.header.Access-Control-Allow-Origin = $origin)#end',
  },
  mediaTypes: ['application/json'],
};
const item: Resource = {
  path: '/items/{uid}',
  pattern: patternOf('/items/{uid}'),
  methods: new Map<string, Integration>([
    ['POST', lambda],
    ['ANY', refusal],
  ]),
};
const guarded: Resource = {
  path: '/guarded',
  pattern: patternOf('/guarded'),
  methods: new Map<string, Integration>([
    ['OPTIONS', preflight],
    ['ANY', { ...lambda, identityHeader: 'authorization' }],
  ]),
};
const definition: ApiDefinition = {
  isBinary: false,
  minimumCompressionBytes: 1_000,
  resources: [guarded, item],
  gatewayAnswers: new Map([
    gatewayAnswer('ACCESS_DENIED', 403),
    gatewayAnswer('DEFAULT_4XX'),
    gatewayAnswer('DEFAULT_5XX', 500),
    gatewayAnswer('MISSING_AUTHENTICATION_TOKEN', 404),
    gatewayAnswer('REQUEST_TOO_LARGE', 413),
    gatewayAnswer('INTEGRATION_TIMEOUT', 504),
    gatewayAnswer('THROTTLED'),
    gatewayAnswer('UNSUPPORTED_MEDIA_TYPE', 415),
    ['UNAUTHORIZED', { status: 401, headers: { 'WWW-Authenticate': '\'Bearer at="http://$context.domainName/x"\'' }, body: '{}' }],
  ]),
};

const events: APIGatewayProxyEvent[] = [];
const answered: Answered[] = [];
let act: () => unknown;
let gateway: RunningGateway;

beforeAll(async () => {
  const invoke = async (_: string, event: unknown) => {
    events.push(event as APIGatewayProxyEvent);
    return JSON.stringify(await act());
  };
  gateway = await startGateway({
    port: 0,
    allowHosts: ['Gate.Test', 'forwarded.test:80'],
    api: Promise.resolve({ definition, invoke, allowedOrigins: ['https://pages.example'] }),
    onAnswered: (entry) => answered.push(entry),
  });
});
beforeEach(() => {
  events.length = 0;
  answered.length = 0;
  act = () => ({ statusCode: 200, headers: { 'Content-Type': 'application/json' }, body: '{"ok":true}' });
});
afterAll(() => gateway.stop());

interface Sent {
  method?: string;
  path?: string;
  host?: string;
  headers?: string[];
  body?: string | Buffer;
}

async function send({ method = 'POST', path = '/items/a', host = `127.0.0.1:${gateway.port}`, headers = [], body = '' }: Sent) {
  const outgoing = httpRequest({
    port: gateway.port,
    host: '127.0.0.1',
    method,
    path,
    headers: [...headers, 'Host', host, 'Content-Length', String(Buffer.byteLength(body))],
  });
  const incoming = new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    outgoing.on('response', resolve).on('error', reject),
  );
  outgoing.end(body);
  const response = await incoming;
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** Sends bytes that no client would send. */
async function sendRaw(bytes: string) {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), id: /X-Request-Id: (\S+)/.exec(head)?.[1], body: JSON.parse(body) };
}

describe('the event', () => {
  test('the event has headers as sent, the query decoded and path parameters still encoded', async () => {
    await send({
      path: '/items/a%2Fb?q=x+y&tag=1&tag=%C3%BC&empty=',
      headers: ['X-One', '1', 'x-one', '2', 'X-One', '3', 'User-Agent', 'jest'],
      body: '{"a":1}',
    });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      httpMethod: 'POST',
      path: '/items/a%2Fb',
      resource: '/items/{uid}',
      pathParameters: { uid: 'a%2Fb' },
      queryStringParameters: { q: 'x y', tag: 'ü', empty: '' },
      multiValueQueryStringParameters: { q: ['x y'], tag: ['1', 'ü'], empty: [''] },
      multiValueHeaders: { 'X-One': ['1', '3'], 'x-one': ['2'], Host: [`127.0.0.1:${gateway.port}`] },
      headers: { 'X-One': '3', 'x-one': '2' },
      body: '{"a":1}',
      isBase64Encoded: false,
      stageVariables: null,
      requestContext: {
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        stage: 'local',
        domainName: `127.0.0.1:${gateway.port}`,
        path: '/items/a%2Fb',
        resourcePath: '/items/{uid}',
        httpMethod: 'POST',
        identity: { sourceIp: '127.0.0.1', userAgent: 'jest' },
      },
    });
  });

  test('names in the event cannot reach prototypes', async () => {
    await send({ path: '/items/a?__proto__=1&constructor=2', headers: ['__proto__', 'x'] });
    expect(Object.entries(events[0]?.multiValueQueryStringParameters ?? {})).toEqual([
      ['__proto__', ['1']],
      ['constructor', ['2']],
    ]);
    expect(Object.keys(events[0]?.multiValueHeaders ?? {})).toContain('__proto__');
  });

  test.each([
    { what: 'text in UTF-8', sent: Buffer.from('ü'), body: 'ü', isBase64Encoded: false },
    { what: 'a byte order mark', sent: Buffer.from('\ufeff{}'), body: '\ufeff{}', isBase64Encoded: false },
    { what: 'bytes that are no UTF-8', sent: Buffer.from([0xff, 0x00]), body: '/wA=', isBase64Encoded: true },
  ])('the event has a body of $what', async ({ sent, body, isBase64Encoded }) => {
    await send({ body: sent });
    expect(events[0]).toMatchObject({ body, isBase64Encoded });
  });
});

test.each<{ what: string; result: object; status: number; headers: object; body: string }>([
  {
    what: 'its headers',
    result: { statusCode: 201, headers: { ETag: '"1"', Age: 3 }, body: 'x' },
    status: 201,
    headers: { etag: '"1"', age: '3', 'content-type': 'application/json' },
    body: 'x',
  },
  {
    what: 'several values',
    result: { statusCode: 200, multiValueHeaders: { Link: ['a', 'b'] }, body: '' },
    status: 200,
    headers: { link: 'a, b', 'content-length': '0' },
    body: '',
  },
  {
    what: 'bytes',
    result: { statusCode: 200, headers: { 'content-type': 'text/plain' }, body: 'w7w=', isBase64Encoded: true },
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: 'ü',
  },
  {
    what: 'its challenge under both names',
    result: { statusCode: 401, headers: { 'WWW-Authenticate': 'Bearer' }, body: '{}' },
    status: 401,
    headers: { 'www-authenticate': 'Bearer', 'x-amzn-remapped-www-authenticate': 'Bearer' },
    body: '{}',
  },
])('the response of the function is sent with $what', async ({ result, status, headers, body }) => {
  act = () => result;
  expect(await send({})).toMatchObject({ status, headers, body });
});

const large = 'x'.repeat(10 * 1024 * 1024);

describe('compression', () => {
  const ask = async (coding: string | undefined, bytes: number, more: object = {}) => {
    const text = 'a'.repeat(bytes);
    act = () => ({ statusCode: 200, headers: { 'Content-Type': 'text/plain', ...more }, body: text });
    const response = await new Promise<import('node:http').IncomingMessage>((resolve) => {
      const headers = coding === undefined ? {} : { 'Accept-Encoding': coding };
      httpRequest({ port: gateway.port, host: '127.0.0.1', method: 'POST', path: '/items/a', headers }, resolve).end();
    });
    const body = await buffer(response);
    return { coding: response.headers['content-encoding'], length: Number(response.headers['content-length']), body, text };
  };

  test.each<[string, 'gzip' | 'deflate', (body: Buffer) => Buffer]>([
    ['gzip', 'gzip', gunzipSync],
    ['br, GZIP ; q=1', 'gzip', gunzipSync],
    ['gzip;q=0, deflate', 'deflate', inflateSync],
  ])('a response to Accept-Encoding "%s" is compressed with %s', async (accepted, coding, decode) => {
    const { coding: used, length, body, text } = await ask(accepted, 1_000);
    expect([used, length, decode(body).toString()]).toEqual([coding, body.length, text]);
    expect(length).toBeLessThan(100);
  });

  test.each<{ what: string; accepted: string | undefined; bytes: number; headers?: object }>([
    { what: 'none is accepted', accepted: undefined, bytes: 1_000 },
    { what: 'the text is shorter than the API says', accepted: 'gzip', bytes: 999 },
    { what: 'it is excluded', accepted: 'gzip;q=0', bytes: 1_000 },
    { what: 'the function has encoded already', accepted: 'gzip', bytes: 1_000, headers: { 'content-encoding': 'identity' } },
  ])('a response is not compressed if $what', async ({ accepted, bytes, headers = {} }) => {
    const { coding, length, body, text } = await ask(accepted, bytes, headers);
    expect([coding, length, body.toString()]).toEqual(['content-encoding' in headers ? 'identity' : undefined, bytes, text]);
  });
});

describe('the responses of the gateway itself', () => {
  test.each<{ what: string; sent?: Sent; behave: () => unknown; status: number; type: string }>([
    { what: 'an unknown path', sent: { path: '/other' }, behave: () => ({}), status: 404, type: 'MISSING_AUTHENTICATION_TOKEN' },
    { what: 'a body beyond 10 MB', sent: { body: `${large}x` }, behave: () => ({}), status: 413, type: 'REQUEST_TOO_LARGE' },
    {
      what: 'headers beyond 10,240 bytes',
      sent: { headers: ['X', 'x'.repeat(10_240)] },
      behave: () => ({}),
      status: 431,
      type: 'DEFAULT_4XX',
    },
    {
      what: 'a media type that the mock does not accept',
      sent: { method: 'PUT', headers: ['Content-Type', 'text/html'], body: 'x' },
      behave: () => ({}),
      status: 415,
      type: 'UNSUPPORTED_MEDIA_TYPE',
    },
    { what: 'a function that fails', behave: () => Promise.reject(new LambdaFailure('x')), status: 500, type: 'DEFAULT_5XX' },
    { what: 'a function that returns nonsense', behave: () => ({ status: 200 }), status: 500, type: 'DEFAULT_5XX' },
    {
      what: 'an invocation that found no environment',
      behave: () => Promise.reject(new LambdaThrottled('x')),
      status: 429,
      type: 'THROTTLED',
    },
    {
      what: 'a function that takes too long',
      behave: () => Promise.reject(new LambdaTimeout('x')),
      status: 504,
      type: 'INTEGRATION_TIMEOUT',
    },
  ])('the gateway itself answers a request with $what', async ({ sent = {}, behave, status, type }) => {
    act = behave;
    const answer = await send(sent);
    expect(answer).toMatchObject({ status, headers: { 'x-fixed': 'yes', 'content-type': 'application/json' } });
    expect(JSON.parse(answer.body)).toMatchObject({ type, id: answer.headers['x-request-id'] });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each(['GET', 'HEAD'])('the gateway refuses %s if there is only POST', async (method) => {
    const { status, headers, body } = await send({ method });
    expect({ status, allow: headers.allow, length: headers['content-length'], body }).toEqual({
      status: 405,
      allow: 'POST',
      ...(method === 'HEAD' ? { length: undefined, body: '' } : { length: '18', body: '{"type":"refusal"}' }),
    });
    expect(events).toEqual([]);
  });

  test.each([
    ['what is not HTTP', 'NONSENSE\r\n\r\n', 400],
    ['headers beyond what Node reads', `GET / HTTP/1.1\r\nX: ${'x'.repeat(50_000)}\r\n\r\n`, 431],
  ])('the gateway itself refuses %s', async (_, bytes, status) => {
    const answer = await sendRaw(bytes);
    expect(answer).toMatchObject({ status, body: { type: 'DEFAULT_4XX', id: answer.id } });
  });
});

describe('a method with an authorizer', () => {
  test.each<[string, Sent]>([
    ['no token', {}],
    ['an empty token', { headers: ['Authorization', ''] }],
    ['a token that is only space', { headers: ['Authorization', '  '] }],
    ['another method', { method: 'GET' }],
    ['a body that is too large', { body: Buffer.alloc(10 * 1_024 * 1_024 + 1) }],
  ])('a method with an authorizer refuses a request with %s itself, with the address that was called', async (_, sent) => {
    const { status, headers } = await send({ path: '/guarded', ...sent });
    expect([status, headers['www-authenticate']]).toEqual([401, `Bearer at="http://127.0.0.1:${gateway.port}/x"`]);
    expect(events).toEqual([]);
  });

  test.each<[string, string[]]>([
    ['a token', ['Authorization', 'Bearer x']],
    ['a token in another spelling', ['aUTHORIZATION', 'bearer x']],
    ['something else in its place', ['authorization', 'x']],
  ])('a method with an authorizer lets a request with %s pass', async (_, headers) => {
    expect((await send({ path: '/guarded', headers })).status).toBe(200);
    expect(events).toHaveLength(1);
  });

  test('methods beside one with an authorizer need no token', async () => {
    expect((await send({ path: '/guarded', method: 'OPTIONS' })).status).toBe(204);
  });
});

describe('the hosts that it serves', () => {
  const own = () => gateway.port;

  test('the gateway serves the hosts of its addresses', () => {
    expect(gateway.baseUrls).toEqual(
      ['127.0.0.1', 'localhost', 'gate.test'].map((name) => `http://${name}:${own()}`).concat('http://forwarded.test'),
    );
  });

  test.each<[string, () => string, () => string]>([
    ['its address', () => `127.0.0.1:${own()}`, () => `127.0.0.1:${own()}`],
    ['its name', () => `localhost:${own()}`, () => `localhost:${own()}`],
    ['capitals', () => `LocalHost:${own()}`, () => `localhost:${own()}`],
    ['a dot at the end', () => `localhost.:${own()}`, () => `localhost:${own()}`],
    ['another spelling of the address', () => `0x7f.1:${own()}`, () => `127.0.0.1:${own()}`],
    ['a port that is forwarded', () => 'localhost:9', () => 'localhost:9'],
    ['no port', () => 'localhost', () => 'localhost'],
    ['a host that is allowed', () => `gate.test:${own()}`, () => `gate.test:${own()}`],
    ['a host that is allowed with a port', () => 'forwarded.test', () => 'forwarded.test'],
  ])('the gateway accepts a Host header with %s', async (_, host, domainName) => {
    expect((await send({ host: host() })).status).toBe(200);
    expect(events[0]?.requestContext.domainName).toBe(domainName());
  });

  test.each<[string, () => Sent]>([
    ['another name', () => ({ host: 'evil.example' })],
    ['another name with its port', () => ({ host: `evil.example:${own()}` })],
    ['a name that ends like its own', () => ({ host: `evil.localhost:${own()}` })],
    ['a name that begins like its own', () => ({ host: `localhost.evil.example:${own()}` })],
    ['another address of this machine', () => ({ host: `127.0.0.2:${own()}` })],
    ['every address', () => ({ host: `0.0.0.0:${own()}` })],
    ['an IPv6 address at which it does not listen', () => ({ host: `[::1]:${own()}` })],
    ['an IPv6 address without brackets', () => ({ host: '::1' })],
    ['user information', () => ({ host: `evil.example@127.0.0.1:${own()}` })],
    ['a path', () => ({ host: `127.0.0.1:${own()}/evil.example` })],
    ['two hosts in one', () => ({ host: `127.0.0.1:${own()}, evil.example` })],
    ['a letter of another script', () => ({ host: `loc\u00e4lhost:${own()}` })],
    ['nothing', () => ({ host: '' })],
    ['another host in an absolute target', () => ({ path: 'http://evil.example/items/a' })],
    [
      'its own host in an absolute target, but another in Host',
      () => ({ path: `http://127.0.0.1:${own()}/items/a`, host: 'evil.example' }),
    ],
    ['a read', () => ({ method: 'GET', host: 'evil.example' })],
    ['MCP', () => ({ path: '/mcp', host: 'evil.example' })],
  ])('the gateway refuses a Host header with %s', async (_, sent) => {
    const { status, headers, body } = await send(sent());
    expect({ status, ...JSON.parse(body) }).toEqual({
      status: 421,
      error: {
        code: 'DEFAULT_4XX',
        message: `This stack does not serve that host. Call it at ${gateway.baseUrls.join(' or ')}, or restart it with: npm start -- --allow-host NAME`,
        details: { request_id: headers['x-request-id'] },
      },
    });
    expect(events).toEqual([]);
  });

  test.each([
    ['none', ''],
    ['two', 'Host: 127.0.0.1\r\nHost: evil.example\r\n'],
  ])('the gateway requires one Host header, not %s', async (_, lines) => {
    const message = `Send one Host header. For this stack it is 127.0.0.1:${own()}.`;
    expect(await sendRaw(`GET /items/a HTTP/1.1\r\n${lines}\r\n`)).toMatchObject({ status: 400, body: { error: { message } } });
  });

  test.each<[string, string, string[]]>([
    ['::1', 'http://[::1]:', ['http://localhost:']],
    ['localhost', 'http://localhost:', ['http://127.0.0.1:']],
    ['0.0.0.0', 'http://127.0.0.1:', ['http://localhost:']],
    ['127.0.0.2', 'http://127.0.0.2:', []],
  ])('a gateway that listens at %s serves its hosts', async (host, first, others) => {
    const other = await startGateway({ host, port: 0, api: Promise.resolve({ definition, invoke: async () => '{"statusCode":200}' }) });
    try {
      expect(other.baseUrls).toEqual([first, ...others].map((url) => url + other.port));
      expect((await fetch(`${first}${other.port}/items/a`, { method: 'POST' })).status).toBe(200);
    } finally {
      await other.stop();
    }
  });
});

describe('pages that may make changes', () => {
  const host = () => `localhost:${gateway.port}`;

  test.each<[string, () => string[]]>([
    ['programs, which have no origin', () => []],
    ['its own pages', () => ['Origin', `http://${host()}`]],
    ['its own pages, behind a proxy that speaks https', () => ['Origin', `https://${host()}`]],
    ['pages that corsOrigins names', () => ['Origin', 'https://pages.example']],
  ])('changes are accepted from %s', async (_, headers) => {
    expect((await send({ host: host(), headers: headers() })).status).toBe(200);
  });

  test.each<[string, () => string[], string]>([
    ['another site', () => ['Origin', 'http://evil.example'], 'POST'],
    ['a page without an origin', () => ['Origin', 'null'], 'POST'],
    ['an empty origin', () => ['Origin', ''], 'POST'],
    ['another port of this machine', () => ['Origin', 'http://localhost:1'], 'POST'],
    ['another name of this machine', () => ['Origin', `http://127.0.0.1:${gateway.port}`], 'POST'],
    ['another scheme', () => ['Origin', `file://${host()}`], 'POST'],
    ['two origins', () => ['Origin', `http://${host()}`, 'Origin', 'http://evil.example'], 'POST'],
    ['another site with a method of its own', () => ['Origin', 'http://evil.example'], 'PROPFIND'],
  ])('changes are not accepted from %s', async (_, headers, method) => {
    const answer = await send({ method, host: host(), headers: headers() });
    expect({ status: answer.status, ...JSON.parse(answer.body) }).toEqual({
      status: 403,
      error: {
        code: 'ACCESS_DENIED',
        message: `Pages from other origins cannot change anything here. Open http://127.0.0.1:${gateway.port}/console, or send the request from a program, without an Origin header.`,
        details: { request_id: answer.headers['x-request-id'], reason: 'origin' },
      },
    });
    expect(events).toEqual([]);
  });

  test.each([
    ['https://a.example', 'https://a.example'],
    ['https://b.example', 'https://b.example'],
    ['https://c.example', 'https://a.example'],
  ])('a preflight from %s allows %s', async (origin, allowed) => {
    const answer = await send({
      method: 'OPTIONS',
      path: '/guarded',
      headers: ['Origin', origin, 'Access-Control-Request-Method', 'POST'],
    });
    expect([answer.status, answer.headers['access-control-allow-origin'], answer.body]).toEqual([204, allowed, '']);
  });

  test('every page may read public data, and MCP makes its own decision', async () => {
    expect((await send({ method: 'GET', headers: ['Origin', 'http://evil.example'] })).status).toBe(405);
    expect((await send({ path: '/mcp', headers: ['Origin', 'null'] })).status).toBe(404);
  });
});

test('a body of exactly 10 MB and an absolute target are accepted', async () => {
  expect((await send({ path: `http://127.0.0.1:${gateway.port}/items/a?x=1`, body: large })).status).toBe(200);
  expect(events[0]).toMatchObject({ path: '/items/a', queryStringParameters: { x: '1' } });
});

test('requests that arrive before the stack is ready wait', async () => {
  const { promise, resolve } = Promise.withResolvers<{ definition: ApiDefinition; invoke: () => Promise<string> }>();
  const early = await startGateway({ port: 0, api: promise });
  try {
    const response = fetch(`http://127.0.0.1:${early.port}/items/a`, { method: 'POST' });
    resolve({ definition, invoke: async () => '{"statusCode":200,"body":"late"}' });
    expect(await (await response).text()).toBe('late');
  } finally {
    await early.stop();
  }
});
