import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { dial } from '../../../../functions/core/relay/dial.ts';

test('a connection outlives the time in which it had to be made', async () => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connectTimeoutMs = 50;
  const socket = await dial(
    { protocol: 'http:', hostname: '127.0.0.1', port },
    { rules: { ports: [443], allowLoopback: true, ownHosts: [] }, resolve: async () => [], connectTimeoutMs },
  );
  await setTimeout(2 * connectTimeoutMs);
  expect(socket.destroyed).toBe(false);
  socket.write('still here');
  expect(String(await once(socket, 'data'))).toBe('still here');
  socket.destroy();
  server.close();
});
