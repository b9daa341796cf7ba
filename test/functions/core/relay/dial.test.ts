import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dial } from '../../../../functions/core/relay/dial.ts';

const server = createServer((socket) => socket.pipe(socket).on('error', () => {}));

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
});

test('a connection may live longer than the time in which it had to be made', async () => {
  const { port } = server.address() as AddressInfo;
  const connectTimeoutMs = 50;
  const socket = await dial(
    { protocol: 'http:', hostname: '127.0.0.1', port },
    { rules: { ports: [443], allowLoopback: true, ownHosts: [] }, resolve: async () => [], connectTimeoutMs },
  );
  await setTimeout(2 * connectTimeoutMs);
  const isOpen = !socket.destroyed;
  socket.destroy();
  expect(isOpen).toBe(true);
});
