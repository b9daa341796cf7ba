import { expect, test } from '@jest/globals';
import { openHttp } from '../../client/http.ts';
import { obtainNamedKey, openMemoryKeyStore } from '../../client/keys.ts';
import { openMcpBridge } from '../../client/mcp-bridge.ts';

/** A bridge to a gate that answers a request only when it is released. */
async function openBridge() {
  const releases: (() => void)[] = [];
  const seen: string[] = [];
  const answering: typeof fetch = async (_, { body, signal } = {}) => {
    const { id, method } = JSON.parse(String(body));
    seen.push(method);
    await new Promise<void>((resolve, reject) => {
      releases.push(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
    return Response.json({ jsonrpc: '2.0', id, result: { method } });
  };
  const bridge = openMcpBridge({
    http: openHttp({ url: 'https://gate.example', fetch: answering }),
    publicUrl: 'https://gate.example',
    signer: await obtainNamedKey('mcp', openMemoryKeyStore()),
    store: { load: async () => undefined, save: async () => undefined },
    acceptCommand: 'accept it',
    send: () => undefined,
  });
  const answer = (message: object) => bridge.answer(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const cancel = (requestId: unknown) => answer({ method: 'notifications/cancelled', params: { requestId } });
  const release = async (count: number) => {
    while (releases.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
    for (const open of releases.splice(0)) open();
  };
  return { answer, cancel, release, seen };
}

const ping = (id: number | string) => ({ id, method: 'ping' });
const pong = (id: number | string) => ({ jsonrpc: '2.0', id, result: { method: 'ping' } });

test.each<[string, number | string, unknown, boolean]>([
  ['its number', 7, 7, true],
  ['its text', 'seven', 'seven', true],
  ['zero', 0, 0, true],
  ['another number', 7, 8, false],
  ['the same digits as text', 7, '7', false],
  ['no id', 7, undefined, false],
  ['an object', 7, {}, false],
])('a request is answered unless it has been cancelled: by %s', async (_, id, requestId, isDropped) => {
  const { answer, cancel, release } = await openBridge();
  const [one, other] = [answer(ping(id)), answer(ping('other'))];
  expect(await cancel(requestId)).toBeUndefined();
  await release(2);
  expect(await one).toEqual(isDropped ? undefined : pong(id));
  expect(await other).toEqual(pong('other'));
});

test('an id can be used again after its request has been answered or cancelled', async () => {
  const { answer, cancel, release } = await openBridge();
  const answered = answer(ping(1));
  await release(1);
  expect(await answered).toEqual(pong(1));
  await cancel(1);
  const again = answer(ping(1));
  await release(1);
  expect(await again).toEqual(pong(1));
  const cancelled = answer(ping(1));
  await cancel(1);
  expect(await cancelled).toBeUndefined();
  const last = answer(ping(1));
  await release(1);
  expect(await last).toEqual(pong(1));
});

test('two requests under one id are both answered', async () => {
  const { answer, release } = await openBridge();
  const both = [answer(ping(1)), answer(ping(1))];
  await release(2);
  expect(await Promise.all(both)).toEqual([pong(1), pong(1)]);
});

test('a cancellation is not forwarded', async () => {
  const { cancel, seen } = await openBridge();
  await cancel(1);
  expect(seen).toEqual([]);
});
