import type { Socket } from 'node:net';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { ApiError, unavailable } from '../../../../functions/core/api-error.ts';
import { openRelay, type RelayOptions } from '../../../../functions/core/relay/call.ts';
import type { LostContent } from '../../../../functions/core/relay/content-coding.ts';
import type { EgressRules } from '../../../../functions/core/relay/egress.ts';
import type { UpstreamCall } from '../../../../functions/core/relay/request.ts';
import { makeCallKeys } from '../../../support/call-keys.ts';
import { callUpstream } from '../../../support/call-upstream.ts';
import { makeCertificate } from '../../../support/certificate.ts';
import { startRawUpstream, startUpstream, watchSockets } from '../../../support/upstream.ts';

const loopback: EgressRules = { ports: [443], allowLoopback: true, ownHosts: [] };
const production: EgressRules = { ports: [443], allowLoopback: false, ownHosts: ['gate.example'] };

const execution = (url: string, more: Partial<UpstreamCall> = {}): UpstreamCall => ({
  request: { method: 'POST', url, contentType: 'application/json', body: '{"a":1}' },
  service: { service_id: 'service-1', service_url: 'https://api.world.example' },
  intentUid: 'world.example:get-country:v1',
  agentId: 'agent-1',
  account: 'thumbprint-1',
  requestId: 'request-1',
  executionId: 'execution-1',
  baseUrl: 'https://gate.example',
  deadlineMs: 5_000,
  ...more,
});

/** Credentials that cannot be read. */
const unreadable: RelayOptions['credentials'] = {
  read: () => Promise.reject(unavailable('The credentials cannot be reached.')),
};
const credential = { headers: [], query: [], origins: ['https://api.world.example'], version: '1', set_at: 1 };
const withCredential = { service_id: 'service-1', service_url: 'https://api.world.example', credential };

const opened: { stop?: () => unknown; close?: () => unknown }[] = [];
const keep = <T extends { stop?: () => unknown; close?: () => unknown }>(part: T): T => {
  opened.push(part);
  return part;
};
afterEach(async () => {
  for (const part of opened.splice(0)) await (part.close ?? part.stop)?.();
});

const relay = (options: Partial<RelayOptions> = {}) => {
  const own = keep(
    openRelay({
      rules: loopback,
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      credentials: unreadable,
      callKeys: makeCallKeys(),
      ...options,
    }),
  );
  return { ...own, call: (execution: UpstreamCall) => callUpstream(own, execution) };
};

const refusal = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

async function expectFailure(call: Promise<unknown>, code: string, status: number, details: Record<string, unknown>, message: RegExp) {
  const error = await refusal(call);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code, status, details });
  expect((error as ApiError).message).toMatch(message);
  return error as ApiError;
}

describe('a call', () => {
  test('carries headers from scratch and returns status and body', async () => {
    const upstream = keep(await startUpstream((_, response) => response.writeHead(201, { 'Set-Cookie': 'a=1' }).end('{"ok":true}')));
    const answer = await relay().call(
      execution(`http://upstream.example:${upstream.port}/orders?x=1`, { agentId: 'agent é 100%', idempotencyKey: 'key-1' }),
    );
    expect({ ...answer, body: String(answer.body) }).toEqual({
      status: 201,
      url: `http://upstream.example:${upstream.port}/orders?x=1`,
      body: '{"ok":true}',
      redactor: expect.objectContaining({ hasFound: false }),
      durationMs: expect.any(Number),
    });
    expect(upstream.seen).toEqual([
      {
        method: 'POST',
        url: '/orders?x=1',
        body: '{"a":1}',
        headers: {
          host: `upstream.example:${upstream.port}`,
          connection: 'keep-alive',
          'content-length': '7',
          'content-type': 'application/json',
          accept: 'application/json, */*;q=0.1',
          'accept-encoding': 'identity',
          'user-agent': 'intent-gate',
          'x-request-id': 'request-1',
          'execution-id': 'execution-1',
          'agent-id': 'agent%20%C3%A9%20100%25',
          'agent-key': 'thumbprint-1',
          'intent-uid': 'world.example:get-country:v1',
          'idempotency-key': 'key-1',
          'content-digest': expect.any(String),
          'signature-agent': '"https://gate.example"',
          'signature-input': expect.any(String),
          signature: expect.any(String),
        },
      },
    ]);
  });

  test('is not made without the credential that it needs', async () => {
    const sockets = watchSockets();
    await expectFailure(
      relay({ rules: { ports: [443], allowLoopback: false, ownHosts: [] } }).call(
        execution('https://api.world.example/countries', { service: withCredential }),
      ),
      'SERVICE_UNAVAILABLE',
      503,
      { reason: 'no_credential', outcome: 'not_sent' },
      /cannot be read at the moment/,
    );
    expect(sockets.opened()).toBe(0);
    sockets.stop();
  });

  test('is not made if it is dropped once the upstream is connected', async () => {
    const upstream = keep(await startUpstream((_, response) => response.end('{}')));
    const { connect, call } = relay();
    const url = `http://upstream.example:${upstream.port}/`;
    (await connect(execution(url))).drop();
    await pause(30);
    expect([upstream.connections, upstream.seen.length]).toEqual([1, 0]);
    await call(execution(url));
    expect(upstream.seen).toHaveLength(1);
  });

  test('is not made if its time is up before it is sent', async () => {
    const upstream = keep(await startUpstream((_, response) => response.end('{}')));
    const { connect } = relay();
    for (let count = 0; count < 6; count++) {
      const connected = await connect(execution(`http://upstream.example:${upstream.port}/`, { deadlineMs: 100 }));
      await pause(110);
      await expectFailure(
        connected.send(async () => {}),
        'SERVICE_UNAVAILABLE',
        503,
        { reason: 'late', outcome: 'not_sent' },
        /before it could be sent/,
      );
    }
    expect(upstream.seen).toEqual([]);
  });

  test('that was refused with 401 has not acted if the time is up before it is made with the next values', async () => {
    const certificate = makeCertificate('upstream.example');
    const upstream = keep(await startUpstream((_, response) => response.writeHead(401).end(), certificate));
    const url = `https://upstream.example:${upstream.port}/`;
    const values = { headers: {}, query: { key: '1' } };
    const credentials = { read: async () => ({ ...values, origins: [new URL(url).origin], next: { ...values, query: { key: '2' } } }) };
    const service = { ...withCredential, credential: { ...withCredential.credential, origins: [new URL(url).origin] } };
    const learnt: boolean[] = [];
    const breaker = {
      secondsToWait: () => 0,
      record: (_: string, hasAnswered: boolean) => void learnt.push(hasAnswered),
      release: () => {},
    };
    const { connect } = relay({ credentials, breaker, trustedCertificate: certificate.cert });
    const connected = await connect(execution(url, { service, deadlineMs: 1_000 }));
    await expectFailure(
      connected.send(() => pause(1_200)),
      'SERVICE_UNAVAILABLE',
      503,
      { reason: 'late', outcome: 'not_sent' },
      /before it could be sent/,
    );
    expect([upstream.seen.length, learnt]).toEqual([1, []]);
  });

  test('is not made if its connection is lost before it is sent', async () => {
    const upstream = await startUpstream((_, response) => response.end('{}'));
    const connected = await relay().connect(execution(`http://upstream.example:${upstream.port}/`));
    await upstream.stop();
    await pause(30);
    await expectFailure(
      connected.send(async () => {}),
      'SERVICE_UNAVAILABLE',
      503,
      { reason: 'lost', outcome: 'not_sent' },
      /connection .* was lost/,
    );
  });

  describe('over a kept connection that is lost before it is sent', () => {
    /** Two connections are kept, and closed by the upstream while a call holds one of them. */
    const lose = async (afterwards: 'stays' | 'stops' = 'stays') => {
      const upstream = keep(await startUpstream((_, response) => void pause(30).then(() => response.end('{}'))));
      const own = relay();
      const url = `http://upstream.example:${upstream.port}/`;
      await Promise.all([own.call(execution(url)), own.call(execution(url))]);
      await setImmediate();
      const connected = await own.connect(execution(url));
      expect([upstream.connections, upstream.seen.length]).toEqual([2, 2]);
      if (afterwards === 'stops') await upstream.stop();
      else upstream.dropAll();
      return { upstream, connected };
    };

    test('is made once over a new one, after it was asked whether it still may be', async () => {
      const { upstream, connected } = await lose();
      await pause(30);
      let asked = 0;
      const answer = await connected.send(async () => void asked++);
      expect([answer.status, asked, upstream.connections, upstream.seen.length]).toEqual([200, 1, 3, 3]);
    });

    test('is not made if it may not be any more', async () => {
      const { upstream, connected } = await lose();
      await pause(30);
      const call = connected.send(async () => {
        throw new ApiError('TOO_MANY_REQUESTS', 'too many');
      });
      await expectFailure(call, 'SERVICE_UNAVAILABLE', 503, { reason: 'lost', outcome: 'not_sent' }, /connection .* was lost/);
      expect(upstream.seen).toHaveLength(2);
    });

    test('is not made if the upstream has gone', async () => {
      const { connected } = await lose('stops');
      await pause(30);
      const call = connected.send(async () => {});
      await expectFailure(call, 'SERVICE_UNAVAILABLE', 503, { reason: 'unreachable', outcome: 'not_sent' }, /cannot be reached/);
    });
  });

  test('without a body sends none, and over http no credential', async () => {
    const upstream = keep(await startUpstream((_, response) => response.end('{}')));
    const url = `http://upstream.example:${upstream.port}/`;
    const origins = [new URL(url).origin];
    const credential = { headers: { Authorization: 'secret' }, query: { key: 'secret' }, origins };
    const credentials = { read: async () => credential };
    const service = { ...withCredential, credential: { ...withCredential.credential, origins: [new URL(url).origin] } };
    await relay({ credentials }).call(execution(url, { request: { method: 'GET', url }, service }));
    expect(upstream.seen[0]).toMatchObject({ method: 'GET', url: '/', body: '' });
    expect(upstream.seen[0]?.headers).not.toHaveProperty('authorization');
    expect(upstream.seen[0]?.headers).not.toHaveProperty('content-type');
    expect(upstream.seen[0]?.headers).not.toHaveProperty('content-digest');
  });

  test('reuses a connection', async () => {
    const upstream = keep(await startUpstream((_, response) => response.end('{}')));
    const { call } = relay();
    for (let count = 0; count < 3; count++) {
      await call(execution(`http://upstream.example:${upstream.port}/`));
      await setImmediate();
    }
    expect([upstream.connections, upstream.seen.length]).toEqual([1, 3]);
  });

  test('is not sent again when a connection that was used before breaks', async () => {
    const upstream = keep(
      await startUpstream((_, response) => {
        if (upstream.seen.length === 1) response.end('{}');
        else response.destroy();
      }),
    );
    const { call } = relay();
    const url = `http://upstream.example:${upstream.port}/`;
    await call(execution(url));
    await setImmediate();
    const details = { reason: 'broken_answer', outcome: 'unknown' };
    await expectFailure(
      call(execution(url, { request: { method: 'GET', url } })),
      'INTENT_EXECUTION_FAILED',
      502,
      details,
      /closed the connection/,
    );
    expect([upstream.connections, upstream.seen.length]).toEqual([1, 2]);
  });

  test('follows no redirect', async () => {
    const upstream = keep(await startUpstream((_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:9001/' }).end()));
    expect(await relay().call(execution(`http://upstream.example:${upstream.port}/`))).toMatchObject({ status: 302 });
    expect(upstream.seen).toHaveLength(1);
  });
});

describe('over https', () => {
  const certificate = makeCertificate('upstream.example');
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  beforeAll(async () => {
    upstream = await startUpstream((_, response) => response.end('{}'), certificate);
  });
  afterAll(() => upstream.stop());

  test('a trusted certificate lets the call through', async () => {
    const { call } = relay({ trustedCertificate: certificate.cert });
    expect(await call(execution(`https://upstream.example:${upstream.port}/`))).toMatchObject({ status: 200 });
  });

  test.each([
    ['a certificate that nobody vouches for', 'upstream.example', {}],
    ['a certificate for another name', 'other.example', { trustedCertificate: certificate.cert }],
  ])('%s ends the call before anything is sent', async (_, host, options) => {
    const before = upstream.seen.length;
    const call = relay(options).call(execution(`https://${host}:${upstream.port}/`));
    await expectFailure(call, 'INTENT_EXECUTION_FAILED', 502, { reason: 'tls_failed', outcome: 'not_sent' }, /no valid certificate/);
    expect(upstream.seen).toHaveLength(before);
  });

  test('a server that speaks no TLS', async () => {
    const plain = keep(await startRawUpstream((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')));
    const call = relay().call(execution(`https://upstream.example:${plain.port}/`));
    await expectFailure(call, 'INTENT_EXECUTION_FAILED', 502, { reason: 'tls_failed', outcome: 'not_sent' }, /no valid certificate/);
  });
});

describe('egress', () => {
  test.each([
    ['a public and a private address', ['93.184.215.14', '192.168.0.1']],
    ['loopback', ['127.0.0.1']],
    ['loopback as a mapped address', ['::ffff:127.0.0.1']],
    ['no address at all', ['upstream.example']],
  ])('a name that resolves to %s is not connected to', async (_, addresses) => {
    const sockets = keep(watchSockets());
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const call = relay({ rules: production, resolve }).call(execution('https://upstream.example/'));
    await expectFailure(call, 'INTENT_EXECUTION_FAILED', 502, { reason: 'refused_address', outcome: 'not_sent' }, /does not call/);
    expect(sockets.opened()).toBe(0);
  });

  test.each([
    'http://upstream.example/',
    'https://upstream.example:8443/',
    'https://gate.example/api/intents/execute',
    'https://127.0.0.1/',
    'ftp://upstream.example/',
  ])('%s is not even resolved', async (url) => {
    const sockets = keep(watchSockets());
    let resolved = 0;
    const resolve = async () => {
      resolved++;
      return [];
    };
    const call = relay({ rules: production, resolve }).call(execution(url));
    await expectFailure(call, 'INTENT_EXECUTION_FAILED', 502, { reason: 'refused_address', outcome: 'not_sent' }, /does not call/);
    expect([resolved, sockets.opened()]).toEqual([0, 0]);
  });

  describe('with privateOrigins', () => {
    const rules: EgressRules = { ...production, privateOrigins: ['https://orders.internal:8443'] };

    test.each([
      ['a named origin leads to metadata', 'https://orders.internal:8443/', '169.254.169.254'],
      ['a named origin leads to loopback', 'https://orders.internal:8443/', '127.0.0.1'],
      ['a named origin also leads to metadata', 'https://orders.internal:8443/', '10.0.3.7', 'fd00:ec2::254'],
      ['the same host leads to a private address at another port', 'https://orders.internal/', '10.0.3.7'],
      ['another host leads to a private address', 'https://upstream.example/', '10.0.3.7'],
      ['another host also leads to a private address', 'https://upstream.example/', '93.184.215.14', '10.0.3.7'],
      ['a private address is called by itself', 'https://10.0.3.7:8443/', '10.0.3.7'],
      ['a named origin is spelt with a dot', 'https://orders.internal.:8443/', '10.0.3.7'],
    ])('nothing is connected if %s', async (_, url, ...addresses) => {
      const sockets = keep(watchSockets());
      const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      const call = relay({ rules, resolve }).call(execution(url));
      await expectFailure(call, 'INTENT_EXECUTION_FAILED', 502, { reason: 'refused_address', outcome: 'not_sent' }, /does not call/);
      expect(sockets.opened()).toBe(0);
    });
  });

  test('a refused address is refused the sixth time too', async () => {
    const { call } = relay({ rules: production });
    for (let count = 0; count < 6; count++) {
      await expectFailure(
        call(execution('https://upstream.example/')),
        'INTENT_EXECUTION_FAILED',
        502,
        { reason: 'refused_address' },
        /does not call/,
      );
    }
  });

  test('the address at which this gate was called is refused too', async () => {
    const call = relay().call(execution('https://called.example/', { baseUrl: 'https://called.example/prod' }));
    await expectFailure(call, 'INTENT_EXECUTION_FAILED', 502, { reason: 'refused_address' }, /does not call/);
  });

  test('a name is resolved once for each connection, which uses the checked addresses', async () => {
    const upstream = keep(await startUpstream((_, response) => response.end('{}')));
    const answers = ['127.0.0.1', '127.0.0.2'];
    const asked: string[] = [];
    const resolve = async (hostname: string) => {
      asked.push(hostname);
      return [{ address: answers[asked.length - 1] ?? '', family: 4 }];
    };
    await relay({ resolve }).call(execution(`http://rebinding.example:${upstream.port}/`));
    expect([asked, upstream.seen.length]).toEqual([['rebinding.example'], 1]);
  });
});

describe('a host that cannot be reached', () => {
  const unavailable = ['SERVICE_UNAVAILABLE', 503] as const;

  test.each([
    ['has no address', async () => []],
    ['is unknown', async () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }))],
  ])('because it %s', async (_, resolve) => {
    const error = await expectFailure(
      relay({ resolve }).call(execution('https://upstream.example/')),
      ...unavailable,
      { reason: 'no_address', outcome: 'not_sent' },
      /cannot be resolved at the moment/,
    );
    expect(error.headers).toEqual({ 'Retry-After': '5' });
  });

  test('because it refuses connections, and calls are then paused', async () => {
    const upstream = await startUpstream((_, response) => response.end('{}'));
    await upstream.stop();
    const sockets = keep(watchSockets());
    const { call } = relay();
    const url = `http://upstream.example:${upstream.port}/`;
    for (let count = 0; count < 5; count++) {
      await expectFailure(call(execution(url)), ...unavailable, { reason: 'unreachable', outcome: 'not_sent' }, /cannot be reached/);
    }
    expect(sockets.opened()).toBe(5);
    const error = await expectFailure(call(execution(url)), ...unavailable, { reason: 'resting', outcome: 'not_sent' }, /has paused calls/);
    expect(error.headers).toEqual({ 'Retry-After': '10' });
    expect(sockets.opened()).toBe(5);
  });

  test('because it let calls run into their deadlines, and calls are then paused', async () => {
    let answersLeft = 1;
    const upstream = keep(await startUpstream((_, response) => void (answersLeft-- > 0 && response.end('{}'))));
    const { call } = relay();
    const late = () => expectFailure(call(execution(url, { deadlineMs: 50 })), 'GATEWAY_TIMEOUT', 504, { reason: 'deadline' }, /in time/);
    const url = `http://upstream.example:${upstream.port}/`;
    await call(execution(url));
    for (let count = 0; count < 4; count++) await late();
    answersLeft = 1;
    await call(execution(url));
    for (let count = 0; count < 5; count++) await late();
    expect(upstream.seen).toHaveLength(11);
    await expectFailure(call(execution(url)), ...unavailable, { reason: 'resting', outcome: 'not_sent' }, /has paused calls/);
    expect(upstream.seen).toHaveLength(11);
  });
});

describe('an upstream that', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
  const broken = ['INTENT_EXECUTION_FAILED', 502, { reason: 'broken_answer', outcome: 'unknown' }, /closed the connection/] as const;
  const tooLarge = ['INTENT_EXECUTION_FAILED', 502, { reason: 'answer_too_large', outcome: 'unknown' }, /more than 1048576 bytes/] as const;
  const late = ['GATEWAY_TIMEOUT', 504, { reason: 'deadline', outcome: 'unknown' }, /in time/] as const;
  const pour = (socket: Socket, text: string, start = '') => {
    socket.write(start);
    const write = () => {
      while (!socket.destroyed && socket.write(text));
    };
    socket.on('drain', write);
    write();
  };
  const drip = (socket: Socket, text: string, start = '') => {
    socket.write(start);
    const timer = setInterval(() => socket.write(text), 20);
    socket.on('close', () => clearInterval(timer));
  };

  test.each<[string, (socket: Socket) => void, readonly [string, number, Record<string, unknown>, RegExp] | LostContent]>([
    ['closes without an answer', (socket) => socket.end(), broken],
    ['resets', (socket) => socket.resetAndDestroy(), broken],
    ['resets in mid-header', (socket) => socket.write(head, () => socket.resetAndDestroy()), broken],
    ['ends in mid-header', (socket) => socket.end(head), broken],
    ['resets in mid-body', (socket) => socket.write(`${head}Content-Length: 10\r\n\r\n{`, () => socket.resetAndDestroy()), 'broken_answer'],
    ['ends in mid-body', (socket) => socket.end(`${head}Content-Length: 10\r\n\r\n{`), 'broken_answer'],
    ['ends in mid-chunk', (socket) => socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{`), 'broken_answer'],
    ['answers in HTTP/0.9', (socket) => socket.end('{"ok":true}'), broken],
    ['answers in another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), broken],
    ['switches protocols', (socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'), broken],
    ['sends two lengths', (socket) => socket.end(`${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `), broken],
    ['sends endless headers', (socket) => pour(socket, `X-More: ${'x'.repeat(1000)}\r\n`, head), tooLarge],
    ['sends one endless header', (socket) => pour(socket, 'x'.repeat(10_000), `${head}X-More: `), tooLarge],
    ['announces 10 GB', (socket) => socket.write(`${head}Content-Length: 10737418240\r\n\r\n${'x'.repeat(1024)}`), 'deadline'],
    ['sends 10 GB', (socket) => pour(socket, 'x'.repeat(65_536), `${head}Content-Length: 10737418240\r\n\r\n`), 'answer_too_large'],
    [
      'sends chunks without end',
      (socket) => pour(socket, `400\r\n${'x'.repeat(1024)}\r\n`, `${head}Transfer-Encoding: chunked\r\n\r\n`),
      'answer_too_large',
    ],
    [
      'sends events without end',
      (socket) => drip(socket, 'data: {}\n\n', 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'),
      'deadline',
    ],
    ['says nothing', () => {}, late],
    ['drips its headers', (socket) => drip(socket, 'X-Drip: 1\r\n', head), late],
    ['drips its body', (socket) => drip(socket, 'x', `${head}Content-Length: 100000\r\n\r\n`), 'deadline'],
    ['sends early hints without end', (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'), late],
  ])('%s', async (_, behave, expected) => {
    const upstream = keep(await startRawUpstream(behave));
    const deadlineMs = expected === late || expected === 'deadline' ? 400 : 5_000;
    const call = relay().call(execution(`http://upstream.example:${upstream.port}/`, { deadlineMs }));
    // once the head has come, it is known that the call was executed
    if (typeof expected === 'string') expect(await call).toMatchObject({ status: 200, lost: expected });
    else await expectFailure(call, ...expected);
    expect(upstream.connections).toBe(1);
  });

  const body = '{"ok":true}';
  const codings: Record<string, (content: string) => Buffer> = {
    gzip: gzipSync,
    'X-GZIP': gzipSync,
    deflate: deflateSync,
    Deflate: deflateRawSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
    'identity, gzip': gzipSync,
    'deflate, br': (content) => brotliCompressSync(deflateSync(content)),
  };
  test.each(Object.keys(codings))('compresses without being asked is read: %s', async (coding) => {
    const upstream = keep(
      await startUpstream((_, response) => response.writeHead(200, { 'Content-Encoding': coding }).end(codings[coding]?.(body))),
    );
    const answer = await relay().call(execution(`http://upstream.example:${upstream.port}/`));
    expect([answer.status, answer.lost, String(answer.body)]).toEqual([200, undefined, body]);
    expect(upstream.seen[0]?.headers).toMatchObject({ 'accept-encoding': 'identity', accept: 'application/json, */*;q=0.1' });
  });

  const bomb = 'x'.repeat(5_000_000);
  test.each<[string, string, () => Buffer, string]>([
    ['a bomb of gzip', 'gzip', () => gzipSync(bomb), 'answer_too_large'],
    ['a bomb of deflate', 'deflate', () => deflateRawSync(bomb), 'answer_too_large'],
    ['a bomb of Brotli', 'br', () => brotliCompressSync(bomb), 'answer_too_large'],
    ['a bomb of zstd', 'zstd', () => zstdCompressSync(bomb), 'answer_too_large'],
    ['a bomb in a bomb', 'gzip, gzip', () => gzipSync(gzipSync(bomb)), 'answer_too_large'],
    ['three codings', 'gzip, gzip, gzip', () => gzipSync(gzipSync(gzipSync(body))), 'encoded_answer'],
    ['a coding that nobody knows', 'constructor', () => Buffer.from(body), 'encoded_answer'],
    ['what is not in that coding', 'gzip', () => Buffer.from(body), 'broken_answer'],
    ['half of it', 'br', () => brotliCompressSync(body).subarray(0, 5), 'broken_answer'],
  ])('answers with %s has executed the call', async (_, coding, encode, lost) => {
    const encoded = encode();
    const upstream = keep(await startUpstream((_, response) => response.writeHead(201, { 'Content-Encoding': coding }).end(encoded)));
    const answer = await relay().call(execution(`http://upstream.example:${upstream.port}/`));
    expect([answer.status, answer.lost, answer.body.length]).toEqual([201, lost, 0]);
  });

  const tooLate = ['SERVICE_UNAVAILABLE', 503, { reason: 'late', outcome: 'not_sent' }, /before it could be sent/] as const;

  test.each([0, -5, 0.05])('is called with %d ms left', async (deadlineMs) => {
    const upstream = keep(await startRawUpstream(() => {}));
    await expectFailure(relay().call(execution(`http://upstream.example:${upstream.port}/`, { deadlineMs })), ...tooLate);
  });

  test('takes its time to connect', async () => {
    const resolve = () => new Promise<never>(() => {});
    const call = relay({ resolve }).call(execution('https://upstream.example/', { deadlineMs: 100 }));
    await expectFailure(call, ...tooLate);
  });
});
