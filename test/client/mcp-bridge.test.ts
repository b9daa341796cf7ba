import { expect, test } from '@jest/globals';
import { digestOf } from '../../client/canonical.ts';
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

test.each<{ what: string; id: number | string; requestId: unknown; isDropped: boolean }>([
  { what: 'its number', id: 7, requestId: 7, isDropped: true },
  { what: 'its text', id: 'seven', requestId: 'seven', isDropped: true },
  { what: 'zero', id: 0, requestId: 0, isDropped: true },
  { what: 'another number', id: 7, requestId: 8, isDropped: false },
  { what: 'the same digits as text', id: 7, requestId: '7', isDropped: false },
  { what: 'no id', id: 7, requestId: undefined, isDropped: false },
  { what: 'an object', id: 7, requestId: {}, isDropped: false },
])('a request is answered unless it has been cancelled: by $what', async ({ id, requestId, isDropped }) => {
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

test.each([
  ['execute_intent', 'The call may have been made. Execute the intent again with the same idempotency key, which makes no second call.'],
  ['execute_intent without a key', 'The call may have been made. Repeating it would make another.'],
  ['search_intents', 'Check the address, and whether the gate is running.'],
])('a result says whether a call whose answer was lost may have been made: %s', async (what, advice) => {
  const bridge = openMcpBridge({
    http: openHttp({ url: 'https://gate.example', fetch: () => Promise.reject(new TypeError('fetch failed')) }),
    publicUrl: 'https://gate.example',
    signer: await obtainNamedKey('mcp', openMemoryKeyStore()),
    store: { load: async () => undefined, save: async () => undefined },
    acceptCommand: 'accept it',
    send: () => undefined,
  });
  const [name = ''] = what.split(' ');
  const params = { name, arguments: { pat: 'of-the-host', ...(name === what && { idempotency_key: 'k' }) } };
  const answer = await bridge.answer(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  expect(JSON.stringify(answer)).toContain(`Nothing answers at https://gate.example. ${advice}`);
});

test.each([
  [502, 'with a key', 'The call may have been made. Execute the intent again', 'Make the same call again later'],
  [502, 'without a key', 'The call may have been made. Repeating it would make another.', 'Find out whether the call was made'],
  [403, 'without a key', 'and of the same version?"', 'Tell the person you work for.'],
  [504, 'without a key', 'GATEWAY_TIMEOUT', 'Find out whether the call was made', { code: 'GATEWAY_TIMEOUT', message: 'm' }],
  [504, 'with a key', 'GATEWAY_TIMEOUT', 'Make the same call again later', { code: 'GATEWAY_TIMEOUT', message: 'm' }],
  [
    503,
    'without a key',
    'SERVICE_UNAVAILABLE',
    'Make the same call again later',
    { code: 'SERVICE_UNAVAILABLE', message: 'm', details: { outcome: 'not_sent' } },
  ],
])(
  'a result says whether a call that was answered %i on its way may have been made: %s, %s',
  async (status, what, said, next, error: object | undefined = undefined) => {
    const bridge = openMcpBridge({
      http: openHttp({
        url: 'https://gate.example',
        fetch: async () => new Response(error ? JSON.stringify({ error }) : '<html>', { status }),
      }),
      publicUrl: 'https://gate.example',
      signer: await obtainNamedKey('mcp', openMemoryKeyStore()),
      store: { load: async () => undefined, save: async () => undefined },
      acceptCommand: 'accept it',
      send: () => undefined,
    });
    const params = { name: 'execute_intent', arguments: { pat: 'of-the-host', ...(what === 'with a key' && { idempotency_key: 'k' }) } };
    const answer = JSON.stringify(await bridge.answer(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })));
    expect(answer).toContain(said);
    expect(answer).toContain(`"next":"${next}`);
  },
);

test('a request for a task that a proxy answers is answered to the host', async () => {
  const bridge = openMcpBridge({
    http: openHttp({ url: 'https://gate.example', fetch: async () => new Response('<html>', { status: 502 }) }),
    publicUrl: 'https://gate.example',
    signer: await obtainNamedKey('mcp', openMemoryKeyStore()),
    store: {
      load: async () => ({
        digest: 'd',
        pat: { text: 'a.b.c', agentId: 'mcp', expiresAtMs: Date.now() + 1e6, renewAtMs: Date.now() + 1e6 },
      }),
      save: async () => undefined,
    },
    acceptCommand: 'accept it',
    send: () => undefined,
  });
  const answer = await bridge.answer(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId: 't' } }));
  expect(answer).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: expect.stringContaining('502') } });
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

/** A bridge to a gate that gives this result for every tool. @param isAccepted - whether its agent has accepted the policy */
async function openExecuting(result: object, isAccepted = true) {
  const policy = { uid: 'https://gate.example/api/policy', permission: [] };
  const counts = { calls: 0, pats: 0 };
  const answering: typeof fetch = async (url, { body } = {}) => {
    const { pathname } = new URL(String(url));
    if (pathname === '/api/policy') return Response.json(policy);
    if (pathname === '/api/pat/issue') {
      counts.pats++;
      return Response.json({
        'proto-pat': 'a.b.c',
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        expires_in: 3_600,
        scope: [],
      });
    }
    counts.calls++;
    return Response.json({ jsonrpc: '2.0', id: JSON.parse(String(body)).id, result });
  };
  const bridge = openMcpBridge({
    http: openHttp({ url: 'https://gate.example', fetch: answering }),
    publicUrl: 'https://gate.example',
    signer: await obtainNamedKey('mcp', openMemoryKeyStore()),
    store: { load: async () => (isAccepted ? { digest: await digestOf(policy) } : undefined), save: async () => undefined },
    acceptCommand: 'accept it',
    send: () => undefined,
  });
  const execute = (more: object = {}) =>
    bridge.answer(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'execute_intent', arguments: { intent_uid: 'a.example:pay:v1', parameters: {} }, ...more },
      }),
    );
  return { execute, counts };
}

const dead = { error: { code: 'UNAUTHORIZED', message: 'The token is not known.' } };
const changed = { error: { code: 'FORBIDDEN', message: 'No.', details: { reason: 'policy_changed' } } };

test.each<[string, object, number]>([
  ['refuses the PAT', { isError: true, structuredContent: dead }, 2],
  ['has another policy', { isError: true, structuredContent: changed }, 2],
  ['refuses the call for another reason', { isError: true, structuredContent: { error: { code: 'NOT_FOUND', message: 'No.' } } }, 1],
  ["passes on a service's answer that looks like a refusal of the PAT", { isError: false, structuredContent: dead }, 1],
  ["passes on a service's answer that looks like a change of policy", { structuredContent: changed }, 1],
  ["passes on a service's answer with an error of its own", { structuredContent: { error: 'UNAUTHORIZED' } }, 1],
])('a call is made again, with another PAT, only if the gate refused it for that: a gate that %s', async (_, result, calls) => {
  const { execute, counts } = await openExecuting(result);
  expect(await execute()).toEqual({ jsonrpc: '2.0', id: 1, result });
  expect(counts).toEqual({ calls, pats: calls });
});

test('a task is refused by an error that says how the person can accept the policy, because it can have no other result', async () => {
  const { execute, counts } = await openExecuting({}, false);
  const { error } = (await execute({ task: { ttl: 1_000 } })) as { error: object };
  const { structuredContent } = ((await execute()) as { result: { structuredContent: object } }).result;
  expect(error).toEqual({ code: -32602, message: expect.stringContaining('accept it'), data: structuredContent });
  expect(counts).toEqual({ calls: 0, pats: 0 });
});
