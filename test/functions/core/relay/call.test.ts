import type { Socket } from 'node:net';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { UpstreamCall } from '../../../../functions/core/relay/build-request.ts';
import type { ConnectedCall, RelayOptions, Resend } from '../../../../functions/core/relay/call.ts';
import type { UnusableBody } from '../../../../functions/core/relay/content-coding.ts';
import type { EgressRules } from '../../../../functions/core/relay/egress.ts';
import { ApiError, unavailable } from '../../../../functions/core/runtime/api-error.ts';
import { callUpstream, callOf as execution, openLocalRelay } from '../../../support/call-upstream.ts';
import { makeCertificate } from '../../../support/certificate.ts';
import { startRawUpstream, startUpstream, watchSockets } from '../../../support/upstream.ts';

const production: EgressRules = { ports: [443], allowLoopback: false, ownHosts: ['gate.example'] };

/** Credentials that cannot be read. */
const unreadable: RelayOptions['credentials'] = { read: () => Promise.reject(unavailable('The credentials cannot be reached.')) };
const credential = { headers: [], query: [], origins: ['https://api.world.example'], version: '1', set_at: 1 };
const withCredential = { service_id: 'service-1', service_url: 'https://api.world.example', credential };

type Part = { stop?: () => unknown; close?: () => unknown };
const opened: Part[] = [];
const keep = <T extends Part>(part: T): T => {
  opened.push(part);
  return part;
};
afterEach(async () => {
  for (const part of opened.splice(0)) await (part.close ?? part.stop)?.();
});

const relay = (options: Partial<RelayOptions> = {}) => {
  const own = keep(openLocalRelay({ credentials: unreadable, ...options }));
  return { ...own, call: (execution: UpstreamCall) => callUpstream(own, execution) };
};

type Failure = [code: string, status: number, outcome: 'not_sent' | 'unknown', message: RegExp];
const failures = {
  no_credential: ['SERVICE_UNAVAILABLE', 503, 'not_sent', /credential .* cannot be read at the moment/],
  no_address: ['SERVICE_UNAVAILABLE', 503, 'not_sent', /cannot be resolved at the moment/],
  unreachable: ['SERVICE_UNAVAILABLE', 503, 'not_sent', /cannot be reached/],
  resting: ['SERVICE_UNAVAILABLE', 503, 'not_sent', /has paused calls/],
  lost: ['SERVICE_UNAVAILABLE', 503, 'not_sent', /connection .* was lost/],
  late: ['SERVICE_UNAVAILABLE', 503, 'not_sent', /before it could be sent/],
  refused_address: ['INTENT_EXECUTION_FAILED', 502, 'not_sent', /does not call\. Nothing was sent; tell the admins/],
  tls_failed: ['INTENT_EXECUTION_FAILED', 502, 'not_sent', /no valid certificate/],
  broken_answer: ['INTENT_EXECUTION_FAILED', 502, 'unknown', /closed the connection/],
  answer_too_large: ['INTENT_EXECUTION_FAILED', 502, 'unknown', /more than 1048576 bytes/],
  deadline: ['GATEWAY_TIMEOUT', 504, 'unknown', /in time\. It may have acted/],
} satisfies Record<string, Failure>;

async function expectFailure(call: Promise<unknown>, reason: keyof typeof failures, retryAfter = '5'): Promise<void> {
  const [code, status, outcome, message] = failures[reason];
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code, status, details: { reason, outcome }, message: expect.stringMatching(message) });
  expect((error as ApiError).headers).toEqual(status === 503 ? { 'Retry-After': retryAfter } : {});
  // alarms count what is a fault of the gate
  expect((error as ApiError).fault).toBe(['no_credential', 'late'].includes(reason) ? 'gate' : 'upstream');
}

const at = ({ port }: { port: number }, more: Partial<UpstreamCall> = {}) => execution(`http://upstream.example:${port}/`, more);
const startOk = () => startUpstream((_, response) => response.end('{}'));

/** The call to send in place of one on which the upstream has not acted. */
async function resendOf(connected: ConnectedCall): Promise<Resend> {
  const outcome = await connected.send();
  if (!('giveUp' in outcome)) throw new Error(`the call was answered with ${outcome.status}`);
  return outcome;
}

describe('a call', () => {
  test('a call carries headers from scratch and returns status and body', async () => {
    const upstream = keep(await startUpstream((_, response) => response.writeHead(201, { 'Set-Cookie': 'a=1' }).end('{"ok":true}')));
    const answer = await relay().call(
      execution(`http://upstream.example:${upstream.port}/orders?x=1`, { agentId: 'agent é 100%', idempotencyKey: 'key-1' }),
    );
    expect({ ...answer, body: String(answer.body) }).toEqual({
      status: 201,
      url: `http://upstream.example:${upstream.port}/orders?x=1`,
      body: '{"ok":true}',
      headers: expect.objectContaining({ 'set-cookie': ['a=1'] }),
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
        },
      },
    ]);
  });

  test('a call is not made without the credential that it needs', async () => {
    const sockets = keep(watchSockets());
    const call = execution('https://api.world.example/countries', { service: withCredential });
    await expectFailure(relay({ rules: production }).call(call), 'no_credential');
    expect(sockets.opened()).toBe(0);
  });

  test('a call is not made if its time is up before it is sent, which says nothing of the host', async () => {
    const upstream = keep(await startOk());
    const { connect } = relay();
    const connected = await Promise.all(Array.from({ length: 6 }, () => connect(at(upstream, { deadlineMs: 500 }))));
    await pause(510);
    for (const { send } of connected) await expectFailure(send(), 'late');
    await pause(30);
    expect(upstream.open()).toBe(0);
    (await connect(at(upstream))).drop();
    expect(upstream.seen).toEqual([]);
  });

  test('a call that was refused with 401 has not acted if the time is up before it is made with the next values', async () => {
    const certificate = makeCertificate('upstream.example');
    const upstream = keep(await startUpstream((_, response) => response.writeHead(401).end(), certificate));
    const url = `https://upstream.example:${upstream.port}/`;
    const values = { headers: {}, query: { key: '1' } };
    const credentials = { read: async () => ({ ...values, origins: [new URL(url).origin], next: { ...values, query: { key: '2' } } }) };
    const service = { ...withCredential, credential: { ...credential, origins: [new URL(url).origin] } };
    const breaker = { secondsToWait: () => 0, record: jest.fn(), release: () => {} };
    const { connect } = relay({ credentials, breaker, trustedCertificate: certificate.cert });
    const connected = await connect(execution(url, { service, deadlineMs: 700 }));
    const resend = await resendOf(connected);
    await pause(800);
    await expectFailure(resend.send(), 'late');
    expect([upstream.seen.length, breaker.record.mock.calls]).toEqual([1, []]);
    expect(resend.giveUp()).toMatchObject({ status: 401 });
  });

  describe('a kept connection that is lost before the call is sent', () => {
    /** Two connections are kept, and closed by the upstream while a call holds one of them. */
    const lose = async (afterwards: 'stays' | 'stops' = 'stays') => {
      const upstream = keep(await startUpstream((_, response) => void pause(30).then(() => response.end('{}'))));
      const own = relay();
      await Promise.all([own.call(at(upstream)), own.call(at(upstream))]);
      await setImmediate();
      const connected = await own.connect(at(upstream));
      expect([upstream.connections, upstream.seen.length]).toEqual([2, 2]);
      if (afterwards === 'stops') await upstream.stop();
      else upstream.dropAll();
      await pause(30);
      return { upstream, connected };
    };

    test('a call over a lost kept connection is made once over a new one, once its caller says so', async () => {
      const { upstream, connected } = await lose();
      const resend = await resendOf(connected);
      expect([upstream.connections, upstream.seen.length]).toEqual([3, 2]);
      expect(await resend.send()).toMatchObject({ status: 200 });
      expect([upstream.connections, upstream.seen.length]).toEqual([3, 3]);
    });

    test('a call over a lost kept connection is not made if it may not be any more', async () => {
      const { upstream, connected } = await lose();
      const resend = await resendOf(connected);
      await expectFailure((async () => resend.giveUp())(), 'lost');
      expect(upstream.seen).toHaveLength(2);
    });

    test('a call over a lost kept connection is not made if the upstream has gone', async () => {
      const { connected } = await lose('stops');
      await expectFailure(connected.send(), 'unreachable');
    });
  });

  test('a call without a body sends none, and over http no credential', async () => {
    const upstream = keep(await startOk());
    const url = `http://upstream.example:${upstream.port}/`;
    const origins = [new URL(url).origin];
    const credentials = { read: async () => ({ headers: { Authorization: 'secret' }, query: { key: 'secret' }, origins }) };
    const service = { ...withCredential, credential: { ...credential, origins } };
    await relay({ credentials }).call(execution(url, { request: { method: 'GET', url }, service }));
    expect(upstream.seen[0]).toMatchObject({ method: 'GET', url: '/', body: '' });
    for (const name of ['authorization', 'content-type', 'content-digest']) expect(upstream.seen[0]?.headers).not.toHaveProperty(name);
  });

  test('a call is not sent again when a connection that was used before breaks', async () => {
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
    await expectFailure(call(execution(url, { request: { method: 'GET', url } })), 'broken_answer');
    expect([upstream.connections, upstream.seen.length]).toEqual([1, 2]);
  });

  test('a call follows no redirect', async () => {
    const upstream = keep(await startUpstream((_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:9001/' }).end()));
    expect(await relay().call(at(upstream))).toMatchObject({ status: 302 });
    expect(upstream.seen).toHaveLength(1);
  });
});

describe('over https', () => {
  const certificate = makeCertificate('upstream.example');

  test.each([
    ['an untrusted certificate', 'upstream.example', {}],
    ['a certificate for another name', 'other.example', { trustedCertificate: certificate.cert }],
  ])('%s ends the call before anything is sent', async (_, host, options) => {
    const upstream = keep(await startUpstream((_, response) => response.end('{}'), certificate));
    await expectFailure(relay(options).call(execution(`https://${host}:${upstream.port}/`)), 'tls_failed');
    expect(upstream.seen).toEqual([]);
  });

  test('a server without TLS is not called', async () => {
    const plain = keep(await startRawUpstream((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')));
    await expectFailure(relay().call(execution(`https://upstream.example:${plain.port}/`)), 'tls_failed');
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
    await expectFailure(relay({ rules: production, resolve }).call(execution('https://upstream.example/')), 'refused_address');
    expect(sockets.opened()).toBe(0);
  });

  const refused = ['http://upstream.example/', 'https://upstream.example:8443/', 'https://127.0.0.1/', 'ftp://upstream.example/'];
  test.each([...refused, 'https://gate.example/api/intents/execute'])('%s is not even resolved', async (url) => {
    const sockets = keep(watchSockets());
    const resolve = jest.fn(async () => []);
    await expectFailure(relay({ rules: production, resolve }).call(execution(url)), 'refused_address');
    expect([resolve.mock.calls.length, sockets.opened()]).toEqual([0, 0]);
  });

  test('a refused address is refused the sixth time too', async () => {
    const { call } = relay({ rules: production });
    for (let count = 0; count < 6; count++) await expectFailure(call(execution('https://upstream.example/')), 'refused_address');
  });

  test('the address at which this gate was called is refused too', async () => {
    const call = relay().call(execution('https://called.example/', { baseUrl: 'https://called.example/prod' }));
    await expectFailure(call, 'refused_address');
  });

  test('a name is resolved once for each connection, which uses the checked addresses', async () => {
    const upstream = keep(await startOk());
    const resolve = jest.fn(async (_: string) => [{ address: '127.0.0.2', family: 4 }]);
    resolve.mockResolvedValueOnce([{ address: '127.0.0.1', family: 4 }]);
    await relay({ resolve }).call(execution(`http://rebinding.example:${upstream.port}/`));
    expect(resolve.mock.calls.map(([hostname]) => hostname)).toEqual(['rebinding.example']);
    expect(upstream.seen).toHaveLength(1);
  });
});

describe('a host that cannot be reached', () => {
  test.each([
    ['has no address', async () => []],
    ['is unknown', async () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }))],
  ])('a host cannot be reached because it %s', async (_, resolve) => {
    await expectFailure(relay({ resolve }).call(execution('https://upstream.example/')), 'no_address');
  });

  test('a host that refuses connections cannot be reached, and calls are then paused', async () => {
    const upstream = await startOk();
    await upstream.stop();
    const sockets = keep(watchSockets());
    const { call } = relay();
    for (let count = 0; count < 5; count++) await expectFailure(call(at(upstream)), 'unreachable');
    await expectFailure(call(at(upstream)), 'resting', '10');
    expect(sockets.opened()).toBe(5);
  });

  test('a host that lets calls run into their deadlines cannot be reached, and calls are then paused', async () => {
    let answersLeft = 1;
    const upstream = keep(await startUpstream((_, response) => void (answersLeft-- > 0 && response.end('{}'))));
    const { call } = relay();
    const late = () => expectFailure(call(at(upstream, { deadlineMs: 150 })), 'deadline');
    await call(at(upstream));
    for (let count = 0; count < 4; count++) await late();
    answersLeft = 1;
    await call(at(upstream));
    for (let count = 0; count < 5; count++) await late();
    await expectFailure(call(at(upstream)), 'resting', '10');
    expect(upstream.seen).toHaveLength(11);
  });
});

describe('upstreams', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
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

  const callRaw = async (behave: (socket: Socket) => void, isSlow: boolean) => {
    const upstream = keep(await startRawUpstream(behave));
    return relay().call(at(upstream, { deadlineMs: isSlow ? 200 : 5_000 }));
  };

  test.each<[string, (socket: Socket) => void, keyof typeof failures]>([
    ['closes without an answer', (socket) => socket.end(), 'broken_answer'],
    ['resets', (socket) => socket.resetAndDestroy(), 'broken_answer'],
    ['ends in mid-header', (socket) => socket.end(head), 'broken_answer'],
    ['answers in another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), 'broken_answer'],
    ['switches protocols', (socket) => socket.end(`HTTP/1.1 101 Ok\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n`), 'broken_answer'],
    ['sends two lengths', (socket) => socket.end(`${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `), 'broken_answer'],
    ['sends endless headers', (socket) => pour(socket, `X-More: ${'x'.repeat(1000)}\r\n`, head), 'answer_too_large'],
    ['sends one endless header', (socket) => pour(socket, 'x'.repeat(10_000), `${head}X-More: `), 'answer_too_large'],
    ['says nothing', () => {}, 'deadline'],
    ['drips its headers', (socket) => drip(socket, 'X-Drip: 1\r\n', head), 'deadline'],
    ['sends early hints without end', (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'), 'deadline'],
  ])('a call fails if the upstream %s', async (_, behave, reason) => {
    await expectFailure(callRaw(behave, reason === 'deadline'), reason);
  });

  const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
  // once the head has come, it is known that the call was executed
  test.each<[string, (socket: Socket) => void, UnusableBody]>([
    ['resets in mid-body', (socket) => socket.write(`${head}Content-Length: 10\r\n\r\n{`, () => socket.resetAndDestroy()), 'broken_answer'],
    ['ends in mid-body', (socket) => socket.end(`${head}Content-Length: 10\r\n\r\n{`), 'broken_answer'],
    ['ends in mid-chunk', (socket) => socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{`), 'broken_answer'],
    ['announces 10 GB', (socket) => socket.write(`${head}Content-Length: 10737418240\r\n\r\n${'x'.repeat(1024)}`), 'deadline'],
    ['sends 10 GB', (socket) => pour(socket, 'x'.repeat(65_536), `${head}Content-Length: 10737418240\r\n\r\n`), 'answer_too_large'],
    ['sends chunks without end', (socket) => pour(socket, chunk, `${head}Transfer-Encoding: chunked\r\n\r\n`), 'answer_too_large'],
    ['drips events without end', (socket) => drip(socket, 'data: {}\n\n', `${head}\r\n`), 'deadline'],
    ['drips its body', (socket) => drip(socket, 'x', `${head}Content-Length: 100000\r\n\r\n`), 'deadline'],
  ])('a call has been executed if the upstream %s', async (_, behave, unusable) => {
    expect(await callRaw(behave, unusable === 'deadline')).toMatchObject({ status: 200, unusable });
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
  test.each(Object.keys(codings))('an upstream that compresses without being asked is read: %s', async (coding) => {
    const upstream = keep(
      await startUpstream((_, response) => response.writeHead(200, { 'Content-Encoding': coding }).end(codings[coding]?.(body))),
    );
    const answer = await relay().call(at(upstream));
    expect([answer.status, answer.unusable, String(answer.body)]).toEqual([200, undefined, body]);
  });

  const triple = gzipSync(gzipSync(gzipSync(body)));
  test.each<{ what: string; coding: string; content: Buffer; read?: Buffer }>([
    { what: 'the name of a charset', coding: 'utf-8', content: Buffer.from(body) },
    { what: 'none', coding: 'none', content: Buffer.from(body) },
    { what: 'the name of nothing', coding: 'constructor', content: Buffer.from(body) },
    { what: 'a charset beside a coding', coding: 'UTF-8, gzip', content: gzipSync(body), read: Buffer.from(body) },
    { what: 'a coding with a parameter', coding: 'gzip;charset=utf-8', content: gzipSync(body), read: Buffer.from(body) },
    { what: 'bytes in no coding', coding: 'none', content: Buffer.from([0x22, 0xff, 0x22]) },
    { what: 'text in the wrong coding', coding: 'gzip', content: Buffer.from(body) },
    { what: 'a coding named twice', coding: 'gzip, gzip', content: gzipSync(body), read: Buffer.from(body) },
    { what: 'a coding that cannot be decoded', coding: 'compress', content: Buffer.from([0x1f, 0x9d, 0x90]) },
    { what: 'a coding below one that cannot be decoded', coding: 'gzip, zstd, compress', content: Buffer.from([0x1f, 0x9d, 0x90]) },
    { what: 'three codings', coding: 'gzip, gzip, gzip', content: triple },
  ])('an upstream that names an odd coding does not lose its answer: $what', async ({ coding, content, read = content }) => {
    const upstream = keep(await startUpstream((_, response) => response.writeHead(201, { 'Content-Encoding': coding }).end(content)));
    const answer = await relay().call(at(upstream));
    expect([answer.status, answer.unusable, answer.body.toString('latin1')]).toEqual([201, undefined, read.toString('latin1')]);
  });

  const bomb = 'x'.repeat(5_000_000);
  test.each<{ what: string; coding: string; encode: () => Buffer; unusable: string }>([
    { what: 'a bomb of gzip', coding: 'gzip', encode: () => gzipSync(bomb), unusable: 'answer_too_large' },
    { what: 'a bomb of deflate', coding: 'deflate', encode: () => deflateRawSync(bomb), unusable: 'answer_too_large' },
    { what: 'a bomb of Brotli', coding: 'br', encode: () => brotliCompressSync(bomb), unusable: 'answer_too_large' },
    { what: 'a bomb of zstd', coding: 'zstd', encode: () => zstdCompressSync(bomb), unusable: 'answer_too_large' },
    { what: 'a bomb in a bomb', coding: 'gzip, gzip', encode: () => gzipSync(gzipSync(bomb)), unusable: 'answer_too_large' },
    { what: 'half of it', coding: 'br', encode: () => brotliCompressSync(body).subarray(0, 5), unusable: 'broken_answer' },
  ])('an upstream that answers with $what has executed the call', async ({ coding, encode, unusable }) => {
    const encoded = encode();
    const upstream = keep(await startUpstream((_, response) => response.writeHead(201, { 'Content-Encoding': coding }).end(encoded)));
    const answer = await relay().call(at(upstream));
    expect([answer.status, answer.unusable, answer.body.length]).toEqual([201, unusable, 0]);
  });

  test.each([0, -5, 0.05])('a call with %d ms left is late', async (deadlineMs) => {
    const upstream = keep(await startRawUpstream(() => {}));
    await expectFailure(relay().call(at(upstream, { deadlineMs })), 'late');
  });

  test('a call is late if the upstream takes its time to connect', async () => {
    const resolve = () => new Promise<never>(() => {});
    await expectFailure(relay({ resolve }).call(execution('https://upstream.example/', { deadlineMs: 100 })), 'late');
  });
});
