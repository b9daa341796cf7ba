import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import tls from 'node:tls';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, test } from '@jest/globals';
import { dial } from '../../../../functions/core/relay/dial.ts';
import { type EgressRules, mayConnect, type Target } from '../../../../functions/core/relay/egress.ts';

const rules = { ports: [443], allowLoopback: true, ownHosts: [] };
const server = createServer((socket) => socket.pipe(socket).on('error', () => {})).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
afterAll(() => void server.close());

test('a connection may live longer than the time in which it had to be made', async () => {
  const connectTimeoutMs = 50;
  const socket = await dial({ protocol: 'http:', hostname: '127.0.0.1', port }, { rules, resolve: async () => [], connectTimeoutMs });
  await setTimeout(2 * connectTimeoutMs);
  const isOpen = !socket.destroyed;
  socket.destroy();
  expect(isOpen).toBe(true);
});

/** A listener on loopback that answers no handshake for almost a second: its queue is full, and its thread waits. */
async function startSlowListener() {
  const script = `
    const { createServer } = require('node:net');
    const { parentPort } = require('node:worker_threads');
    const server = createServer(() => {}).listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      parentPort.once('message', () => {
        parentPort.postMessage('waits');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
      });
    });`;
  const worker = new Worker(script, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  worker.postMessage('wait');
  await once(worker, 'message');
  const queued = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await setTimeout(50);
  return {
    port,
    stop: async () => {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
}

const ipv4 = { address: '127.0.0.1', family: 4 };
const ipv6 = { address: '::1', family: 6 };

test('a slow handshake over IPv4 succeeds before and after an address over IPv6 that nobody answers at', async () => {
  const outcomes = [
    [ipv4, ipv6],
    [ipv6, ipv4],
  ].map(async (addresses) => {
    const slow = await startSlowListener();
    const target = { protocol: 'http:', hostname: 'upstream.example', port: slow.port };
    const socket = await dial(target, { rules, resolve: async () => addresses, connectTimeoutMs: 3_000 }).finally(slow.stop);
    socket.destroy();
  });
  await expect(Promise.all(outcomes)).resolves.toHaveLength(2);
});

test('addresses that all refuse are unreachable at once', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const target = { protocol: 'http:', hostname: 'upstream.example', port };
  const startedMs = performance.now();
  const failed = dial(target, { rules, resolve: async () => [ipv4, ipv6, ipv4], connectTimeoutMs: 3_000 });
  await expect(failed).rejects.toMatchObject({ name: 'DialError', failure: 'unreachable' });
  expect(performance.now() - startedMs).toBeLessThan(1_000);
});

test('a server that accepts the connection and stays silent during the TLS handshake is unreachable', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const accepted = once(silent, 'connection');
  const { port } = silent.address() as AddressInfo;
  const options = { rules: { ...rules, ports: [port] }, resolve: async () => [], connectTimeoutMs: 200 };
  const failed = dial({ protocol: 'https:', hostname: '127.0.0.1', port }, options);
  await expect(failed).rejects.toMatchObject({ name: 'DialError', failure: 'unreachable' });
  const [socket] = await accepted;
  socket.destroy();
  silent.close();
});

test('the peer that answered is checked, whatever its address was when it was checked', async () => {
  let reads = 0;
  const changing = {
    family: 4,
    get address() {
      reads++;
      return reads === 1 ? '93.184.216.34' : '127.0.0.1';
    },
  };
  const target = { protocol: 'https:', hostname: 'upstream.example', port };
  const options = { rules: { ...rules, ports: [port], allowLoopback: false }, resolve: async () => [changing], connectTimeoutMs: 3_000 };
  await expect(dial(target, options)).rejects.toMatchObject({ name: 'DialError', failure: 'refused_address' });
  expect(reads).toBeGreaterThan(1);
});

/** Dials a name that leads to these addresses. */
const open = (rules: EgressRules, target: Target, ...addresses: string[]) => {
  const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return dial(target, { rules, resolve, connectTimeoutMs: 3_000 });
};
const refused = { name: 'DialError', failure: 'refused_address' };

describe('a host that localUpstreams names', () => {
  const local = { ...rules, localUpstreams: ['api'] };
  const at = (hostname: string) => ({ protocol: 'http:', hostname, port });

  test('a host that localUpstreams names is called over http at any port, where its name leads', async () => {
    const socket = await open(local, at('api'), '127.0.0.1');
    socket.destroy();
    expect(socket.remoteAddress).toBe('127.0.0.1');
  });

  test.each([
    ['instance metadata', ['169.254.169.254']],
    ['instance metadata in IPv6', ['fd00:ec2::254']],
    ['a link-local address', ['fe80::1']],
    ['instance metadata, mapped', ['::ffff:169.254.169.254']],
    ['another address as well', ['127.0.0.1', '169.254.169.254']],
    ['everybody', ['255.255.255.255']],
    ['this network', ['0.0.0.0']],
  ])('a host that localUpstreams names is not called if its name leads to %s', async (_, addresses) => {
    await expect(open(local, at('api'), ...addresses)).rejects.toMatchObject(refused);
  });

  test.each(['192.168.1.7', '10.0.0.1', 'fd12::1'])('only a host that localUpstreams names leads to %s', async (address) => {
    expect(mayConnect(local, { protocol: 'http:', hostname: 'api', port: 8_000 }, address)).toBe(true);
    expect(mayConnect(local, { protocol: 'https:', hostname: 'other.example', port: 443 }, address)).toBe(false);
    await expect(open(local, at('other.example'), address)).rejects.toMatchObject(refused);
  });
});

describe('an origin that privateOrigins names', () => {
  const named: EgressRules = { ports: [443], allowLoopback: false, ownHosts: [], privateOrigins: ['https://orders.internal:8443'] };
  const target = { protocol: 'https:', hostname: 'orders.internal', port: 8_443 };
  const others = {
    'another port of the host': { ...target, port: 443 },
    'the host over http': { ...target, protocol: 'http:' },
    'the host with a dot': { ...target, hostname: 'orders.internal.' },
    'a host below it': { ...target, hostname: 'api.orders.internal' },
    'another host': { protocol: 'https:', hostname: 'public.example', port: 443 },
  };

  const forbidden: [what: string, ...addresses: string[]][] = [
    ['loopback', '127.0.0.1'],
    ['loopback in IPv6', '::1'],
    ['loopback, mapped', '::ffff:127.0.0.1'],
    ['instance metadata', '169.254.169.254'],
    ['instance metadata over NAT64', '64:ff9b::a9fe:a9fe'],
    ['instance metadata in IPv6', 'fd00:ec2::254'],
    ['link local in IPv6', 'fe80::1'],
    ['a private address and loopback', '10.0.3.7', '127.0.0.1'],
    ['a public address and metadata', '93.184.216.34', '169.254.169.254'],
    ['no address', 'orders'],
  ];

  test.each(forbidden)('an origin that privateOrigins names is never at %s', async (_, ...addresses) => {
    await expect(open(named, target, ...addresses)).rejects.toMatchObject(refused);
  });

  test.each(Object.entries(others))('an origin that privateOrigins names leaves %s at public addresses', async (_, other) => {
    for (const addresses of [['10.0.3.7'], ['fd12:3456::7'], ['100.64.0.1'], ['93.184.216.34', '10.0.3.7'], ['127.0.0.1']]) {
      await expect(open(named, other, ...addresses)).rejects.toMatchObject(refused);
    }
    expect(mayConnect(named, other, '93.184.216.34')).toBe(other.protocol === 'https:' && other.port === 443);
  });
});

/** The versions that a ClientHello offers (RFC 8446 section 4.2.1). */
function offeredVersions(hello: Buffer): string[] {
  const at = hello.findLastIndex(
    (_, index) => hello.readUInt16BE(Math.min(index, hello.length - 2)) === 0x002b && hello[index + 3] === (hello[index + 4] ?? 0) + 1,
  );
  const count = (hello[at + 4] ?? 0) / 2;
  return Array.from({ length: count }, (_, nth) => hello.subarray(at + 5 + 2 * nth, at + 7 + 2 * nth).toString('hex'));
}

test('no version of TLS before 1.2 is offered, even if the process allows it', async () => {
  const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const hello = once(listener, 'connection').then(async ([socket]) => {
    const [bytes] = await once(socket, 'data');
    socket.destroy();
    return bytes as Buffer;
  });
  try {
    tls.DEFAULT_MIN_VERSION = 'TLSv1';
    tls.DEFAULT_CIPHERS = 'DEFAULT@SECLEVEL=0';
    const target = { protocol: 'https:', hostname: '127.0.0.1', port };
    const failed = dial(target, { rules: { ...rules, ports: [port] }, resolve: async () => [], connectTimeoutMs: 3_000 });
    await expect(failed).rejects.toMatchObject({ failure: 'unreachable' });
    expect(offeredVersions(await hello).sort()).toEqual(['0303', '0304']);
  } finally {
    Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS });
    listener.close();
  }
});
