import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { CallFailed } from '../../../../functions/core/relay/call-failure.ts';
import { DialError } from '../../../../functions/core/relay/dial.ts';
import { openHttpClient } from '../../../../functions/core/relay/http-client.ts';
import { startRawUpstream } from '../../../support/upstream.ts';

const opened: (() => unknown)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const close of opened.splice(0)) await close();
});

/** A client and an upstream that says `answers` one after another, each to one request, whatever the connection. */
async function openExchange(...answers: (string | ((socket: Socket) => void))[]) {
  const say = (socket: Socket) => {
    const answer = answers.shift() ?? '';
    if (typeof answer === 'string') socket.write(answer);
    else answer(socket);
  };
  const upstream = await startRawUpstream((socket) => {
    say(socket);
    socket.on('data', () => say(socket));
  });
  const client = openHttpClient(async ({ hostname, port }) => connect({ host: hostname, port }), 1_000);
  opened.push(client.close, upstream.stop);
  const send = async (signal = new AbortController().signal) => {
    const url = new URL(`http://127.0.0.1:${upstream.port}/`);
    const { status, body } = await client.send({ method: 'POST', url, headers: {}, body: '{}', signal });
    await setImmediate();
    return `${status} ${body}`;
  };
  return { send, upstream };
}

const reasonOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (answer) => answer,
    (error: unknown) => (error instanceof CallFailed ? error.details.reason : error),
  );

const second = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond';

test.each([
  ['the answer had the announced length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst', '200 first'],
  ['the answer came in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n', '200 first'],
  ['the answer had no content', 'HTTP/1.1 204 No Content\r\n\r\n', '204 '],
  ['interim answers came first', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n${second}`, '200 second'],
  ['the upstream keeps the connection for longer', 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: 0\r\n\r\n', '200 '],
])('the client uses a connection again when %s', async (_, first, expected) => {
  const { send, upstream } = await openExchange(first, second);
  expect([await send(), await send(), upstream.connections]).toEqual([expected, '200 second', 1]);
});

const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst';

describe('connections that cannot be trusted', () => {
  const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';

  test.each([
    ['a second answer came over the idle one', `${whole}${forged}`, '200 first'],
    ['garbage came over the idle one', `${whole}garbage`, '200 first'],
    ['the answer was longer than announced', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst{"more":1}', '200 first'],
    ['a body followed an answer without one', 'HTTP/1.1 204 No Content\r\n\r\nfirst', '204 '],
    ['an unrequested answer followed an answer without a body', `HTTP/1.1 304 Not Modified\r\n\r\n${forged}`, '304 '],
    [
      'the upstream is about to close the idle one',
      'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 5\r\n\r\nfirst',
      '200 first',
    ],
    [
      'the upstream has announced to close the connection',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nfirst',
      '200 first',
    ],
    ['the upstream speaks HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nfirst', '200 first'],
  ])('the client opens a new connection when %s', async (_, first, expected) => {
    const { send, upstream } = await openExchange(first, second);
    expect([await send(), await send(), upstream.connections]).toEqual([expected, '200 second', 2]);
  });

  test('the client opens a new connection when the idle one has carried an answer', async () => {
    const { send, upstream } = await openExchange((socket) => {
      socket.write(whole);
      globalThis.setTimeout(() => socket.write(forged), 20);
    }, second);
    const first = await send();
    await setTimeout(60);
    expect([first, await send(), upstream.connections]).toEqual(['200 first', '200 second', 2]);
  });

  test('the client opens a new connection after 1.5 seconds by the clock, even if no timer has run since', async () => {
    const { send, upstream } = await openExchange(whole, second);
    const first = await send();
    const now = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(now + 1_500);
    expect([first, await send(), upstream.connections]).toEqual(['200 first', '200 second', 2]);
  });
});

describe('answers', () => {
  const head = 'HTTP/1.1 200 OK\r\n';

  test('an answer without a length ends with its connection', async () => {
    const { send } = await openExchange((socket) => socket.end(`${head}\r\nall of it`));
    expect(await send()).toBe('200 all of it');
  });

  test.each([
    ['of a length and in chunks', `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['in a chunk that is longer than announced', `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst and more\r\n0\r\n\r\n`],
    ['with a NUL in a field', `${head}X-Field: a\0b\r\nContent-Length: 5\r\n\r\nfirst`],
    ['with a folded field', `${head}X-Field: a\r\n b\r\nContent-Length: 5\r\n\r\nfirst`],
  ])('the client refuses an answer %s', async (_, answer) => {
    const { send } = await openExchange(answer);
    expect(await reasonOf(send(AbortSignal.timeout(2_000)))).toBe('broken_answer');
  });
});

describe('requests that are connected, but not sent', () => {
  /** A request that has its connection, which announces how long it may be idle. */
  async function connectRequest(head = '') {
    const sockets: Socket[] = [];
    const received: string[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket
        .on('error', () => {})
        .on('data', (data) => {
          received.push(String(data));
          socket.write(`HTTP/1.1 200 OK\r\n${head}Content-Length: 5\r\n\r\nfirst`);
        });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = openHttpClient(async () => connect({ host: '127.0.0.1', port }), 1_000);
    opened.push(client.close, () => server.close());
    const request = { method: 'POST', url: new URL(`http://127.0.0.1:${port}/`), headers: {}, body: '{}' };
    const connected = await client.connect(request);
    await setTimeout(30);
    expect([sockets.length, received]).toEqual([1, []]);
    return { client, request, connected, socket: sockets[0] as Socket, received, signal: AbortSignal.timeout(2_000) };
  }

  test('a request is not sent once it is dropped, or its time is up', async () => {
    const { connected, received, signal } = await connectRequest();
    connected.drop();
    expect(await reasonOf(connected.send(signal))).toBe('lost');
    const other = await connectRequest();
    const over = AbortSignal.abort(new DOMException('late', 'TimeoutError'));
    expect(await reasonOf(other.connected.send(over))).toBe(over.reason);
    await setTimeout(30);
    expect([received, other.received, other.socket.destroyed]).toEqual([[], [], true]);
  });

  test.each([
    ['is lost', (socket: Socket) => void socket.destroy()],
    ['carries an answer already', (socket: Socket) => void socket.write(whole)],
    ['carries a part of an answer already', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-')],
  ])('a request is not sent if its connection %s', async (_, disturb) => {
    const { socket, received, connected, signal } = await connectRequest();
    disturb(socket);
    await setTimeout(30);
    expect(await reasonOf(connected.send(signal))).toBe('lost');
    await setTimeout(30);
    expect(received).toEqual([]);
  });

  test('a request is not sent over a connection that the upstream may have closed', async () => {
    const { client, request, connected, received, signal } = await connectRequest('Keep-Alive: timeout=2\r\n');
    await connected.send(signal);
    await setImmediate();
    const second = await client.connect(request);
    const now = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(now + 1_000);
    expect(await reasonOf(second.send(signal))).toBe('lost');
    await setTimeout(30);
    expect(received).toHaveLength(1);
  });
});

test('a request that is over before it begins opens no connection', async () => {
  let dialled = 0;
  const client = openHttpClient(() => {
    dialled++;
    return Promise.reject(new DialError('unreachable'));
  }, 1_000);
  opened.push(client.close);
  const signal = AbortSignal.abort(new DOMException('late', 'TimeoutError'));
  const call = client.send({ method: 'GET', url: new URL('https://upstream.example/'), headers: {}, signal });
  expect([await reasonOf(call), dialled]).toEqual([signal.reason, 0]);
});

test('https is not spoken over a connection of plain http to the same host and port', async () => {
  const { upstream } = await openExchange('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  const dialled: string[] = [];
  const client = openHttpClient(async ({ protocol, hostname, port }) => {
    dialled.push(protocol);
    return connect({ host: hostname, port });
  }, 1_000);
  opened.push(client.close);
  const send = (protocol: string) => {
    const url = new URL(`${protocol}://127.0.0.1:${upstream.port}/`);
    return client.send({ method: 'GET', url, headers: {}, signal: AbortSignal.timeout(100) });
  };
  expect(await send('http')).toMatchObject({ status: 200 });
  await setImmediate();
  expect(await reasonOf(send('https'))).toMatchObject({ name: 'TimeoutError' });
  expect(dialled).toEqual(['http:', 'https:']);
});
