import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import { close, listen } from '../../../../bin/local/http.ts';
import { anyAnswer, keepingClients } from '../../../support/keeping-clients.ts';

const opened: (() => unknown)[] = [];
afterEach(() => {
  jest.restoreAllMocks();
  for (const stop of opened.splice(0)) stop();
});

/** A peer that resets every connection with its second request. */
async function startForgetfulPeer() {
  const used = new Set<Socket>();
  const peer = { url: '', requests: 0 };
  const server = createServer(async (request, response) => {
    peer.requests++;
    await request.toArray();
    if (used.has(request.socket)) return void request.socket.resetAndDestroy();
    used.add(request.socket);
    response.end(anyAnswer);
  });
  peer.url = `http://127.0.0.1:${await listen(server)}`;
  opened.push(() => close(server));
  return peer;
}

const names = Object.keys(keepingClients('http://127.0.0.1:9'));

test.each(names)('a connection that its peer has forgotten is not used again (%s)', async (name) => {
  const peer = await startForgetfulPeer();
  const send = keepingClients(peer.url)[name];
  const first = await send?.();
  // fetch frees a connection some time after its answer
  await setTimeout(50);
  const now = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => now + 4_000);
  expect([first, await send?.(), peer.requests]).toEqual([200, 200, 2]);
});

test('a connection is not used again once the process runs again after a freeze', async () => {
  const peer = await startForgetfulPeer();
  const child = fork('test/support/frozen-clients.ts', [peer.url], { env: { ...process.env, LOG_LEVEL: 'SILENT' } });
  opened.push(() => child.kill('SIGKILL'));
  const all200 = Object.fromEntries(names.map((name) => [name, 200]));
  expect(await once(child, 'message')).toMatchObject([all200]);
  child.kill('SIGSTOP');
  await setTimeout(4_100);
  child.kill('SIGCONT');
  expect(await once(child, 'message')).toMatchObject([all200]);
});

test.each([
  ['what issues PATs is not asked again, because that issues another', 'another function', 503],
  ['what reads from S3 asks again', 'S3 read', 200],
])('if a connection in use is lost, %s', async (_, name, status) => {
  const peer = await startForgetfulPeer();
  const send = keepingClients(peer.url)[name];
  await send?.();
  expect([await send?.(), peer.requests]).toEqual([status, status === 200 ? 3 : 2]);
});
