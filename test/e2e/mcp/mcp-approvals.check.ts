import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Client, type ClientCapabilities, UrlElicitationRequiredError } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { connectMcp, revisions } from '../../support/mcp/mcp-client.ts';
import { bodyOf } from '../api.ts';
import { startRefunds, uid } from '../refunds.ts';

// The official client, and the official package for tasks, wait for a person's approval in each way that the protocol has.

const { api, upstream, pat, seen, decide } = await startRefunds();
beforeEach(() => {
  upstream.seen.length = 0;
});

const url = new URL(`${api.stack.base_url}/mcp`);
const headers = { Authorization: `Bearer ${pat}` };
const clientInfo = { name: 'test', version: '1' };

/** The package for tasks takes only objects of its own realm, and Jest gives each test file one. */
const fetchHere: typeof fetch = async (...given) => {
  const response = await fetch(...given);
  return Object.assign(response, { json: async () => JSON.parse(await response.text()) });
};

const connect = (revision: string, capabilities: ClientCapabilities = {}, sent: Record<string, string> = headers): Promise<Client> =>
  connectMcp(api.stack.base_url, revision, { capabilities, headers: sent, fetch: fetchHere });

const refund = (amount: number, more: object = {}) => ({
  name: 'execute_intent',
  arguments: { intent_uid: uid, parameters: { amount }, ...more },
});
type Answer = Awaited<ReturnType<Client['callTool']>>;
const textOf = ({ content }: { content?: unknown }) => (content as { text: string }[]).map(({ text }) => text).join('\n');

/** Makes the call again, as its answer says, until it has ended. */
async function untilEnded(client: Client, amount: number, answer: Answer, more: object = {}): Promise<Answer> {
  const { status, idempotency_key } = (answer.structuredContent ?? {}) as Record<string, string>;
  if (status !== 'waiting' && status !== 'working') return answer;
  await new Promise((resolve) => setTimeout(resolve, 100));
  return untilEnded(client, amount, await client.callTool(refund(amount, { idempotency_key, ...more })), more);
}

/** A session of the package for tasks. In 2026-07-28, the client leaves sending to its host. */
const openTasks = (client: Client, revision: string) =>
  createTaskSessionFromClient(client, {
    endpointId: 'gate',
    ...(revision === '2026-07-28' && {
      rawDispatch: async (request: unknown) => {
        const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
        const named = { 'Mcp-Method': method, 'Mcp-Name': params.name ?? params.taskId ?? '' };
        const answer = await fetchHere(url, {
          method: 'POST',
          headers: { ...headers, ...named, 'Content-Type': 'application/json', 'MCP-Protocol-Version': revision },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        });
        const { result, error } = (await answer.json()) as { result: never; error?: never };
        return error ? { kind: 'error', error } : { kind: 'result', result };
      },
      v2RequestFraming: { protocolVersion: revision, clientInfo, clientCapabilities: {} },
    }),
  } as Parameters<typeof createTaskSessionFromClient>[1]);

describe.each(revisions)('a client of revision %s', (revision) => {
  test.each([
    ['approve', 'completed', [{ amount: 600 }]],
    ['deny', revision === '2025-11-25' ? 'failed' : 'completed', []],
  ] as const)('a client with tasks waits in one, which ends when an admin decides: %s', async (decision, status, calls) => {
    const client = await connect(revision);
    const session = openTasks(client, revision);
    const states: string[] = [];
    const execution = await session.callTool('execute_intent', { ...refund(600).arguments }, { task: { preference: 'prefer' } });
    const settled = execution.settle({
      onEvent: (event) => void ('task' in event && event.task && states.push(`${event.task.status} ${event.task.statusMessage}`)),
    });
    await decide(decision);
    const { outcome } = await settled;
    expect(states[0]).toMatch(/^working Waiting for a person's approval until 20/);
    expect(outcome.status).toBe(status);
    if (status === 'completed') {
      const result = resultFromTaskOutcome(outcome) as { structuredContent: unknown; isError: boolean };
      expect(result).toMatchObject(
        decision === 'approve'
          ? { structuredContent: { refunded: true }, isError: false }
          : { structuredContent: { error: { code: 'FORBIDDEN', details: { reason: 'denied' } } }, isError: true },
      );
    } else expect(String((outcome as { error: Error }).error.message)).toContain('An admin denied this call: Too much');
    expect(seen()).toEqual(calls);
    await session.close();
  });

  test('a client that opens pages is sent to the one of each call, and gets the answer when it asks again', async () => {
    const client = await connect(revision, { elicitation: { url: {} } });
    const pages: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      pages.push((params as { url: string }).url);
      await decide('approve');
      return { action: 'accept' };
    });
    const calls: object[] = [];
    // the same call again is a new one
    for (const _ of ['first', 'second']) {
      const answer = await client.callTool(refund(700)).catch(async (error: unknown) => {
        if (!(error instanceof UrlElicitationRequiredError)) throw error;
        pages.push(...error.elicitations.map((one) => one.url));
        await decide('approve');
        return client.callTool(refund(700));
      });
      calls.push({ amount: 700 });
      expect(await untilEnded(client, 700, answer)).toMatchObject({ structuredContent: { refunded: true } });
      expect(seen()).toEqual(calls);
    }
    expect(pages).toEqual(Array(2).fill(expect.stringMatching(/\/console#\/approvals\/[0-9A-Z]{26}$/)));
    expect(new Set(pages).size).toBe(2);
  });

  test.each([
    ['approve', { isError: false, structuredContent: { refunded: true } }, [{ amount: 800 }]],
    ['deny', { isError: true, structuredContent: { error: { details: { reason: 'denied' } } } }, []],
  ] as const)('a client without tasks and pages is told in words how to ask again, after %s', async (decision, expected, calls) => {
    const client = await connect(revision);
    const waiting = await client.callTool(refund(800));
    const { idempotency_key, next, ...state } = waiting.structuredContent as Record<string, string>;
    expect(state).toEqual({ status: 'waiting', expires_at: expect.any(String) });
    expect(textOf(waiting)).toBe(
      `This call waits for a person's approval until ${state.expires_at}. Nothing has been sent.\nNext: ${next}`,
    );
    expect(next).toContain(`with the same arguments and the idempotency_key ${idempotency_key}: it is made only once`);
    expect(await client.callTool(refund(801, { idempotency_key }))).toMatchObject({ isError: true });
    await decide(decision);
    expect(await untilEnded(client, 800, waiting)).toMatchObject(expected);
    expect(seen()).toEqual(calls);
  });

  test('a client does not wait if it prefers so, whoever has the PAT', async () => {
    const client = await connect(revision, { elicitation: { url: {} } }, {});
    const first = await client.callTool(refund(5, { pat, respond_async: true }));
    expect([first.structuredContent, textOf(first)]).toEqual([
      expect.objectContaining({ status: 'working' }),
      expect.stringContaining('This call is still running'),
    ]);
    const ended = await untilEnded(client, 5, first, { pat, respond_async: true });
    expect(ended.structuredContent).toEqual({ refunded: true });
    expect(seen()).toEqual([{ amount: 5 }]);
  });
});

test('a task is read with the PAT of its holder only', async () => {
  const send = async (method: string, params: object, token?: string) =>
    bodyOf(await api.call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method, params }, ...(token && { token }) }));
  expect(await send('tools/call', { ...refund(900, { pat }), task: {} })).toMatchObject({
    error: { code: -32602, message: expect.stringContaining('Call the tool without task') },
  });
  const { taskId } = (await send('tools/call', { ...refund(900), task: {} }, pat)).result.task;
  const get = (token?: string) => send('tasks/get', { taskId }, token);
  expect(await send('tools/call', { name: 'search_intents', arguments: {}, task: {} }, pat)).toMatchObject({ error: { code: -32601 } });
  expect(await get(pat)).toMatchObject({ result: { taskId, status: 'working', ttl: 86_400_000 } });
  expect(await get(await api.obtainPat())).toMatchObject({ error: { code: -32602, message: expect.stringContaining('no deferred call') } });
  expect(await get()).toMatchObject({ error: { code: -32602, data: { error: { code: 'UNAUTHORIZED' } } } });
  await decide('deny');
});

test('a task cannot be requested for a call that has ended', async () => {
  const call = { ...refund(6, { idempotency_key: 'ended' }), task: {} };
  const send = async (method: string, params: object) =>
    bodyOf(await api.call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method, params }, token: pat }));
  const { taskId } = (await send('tools/call', call)).result.task;
  while ((await send('tasks/get', { taskId })).result.status === 'working') await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await send('tools/call', call)).toMatchObject({
    error: { code: -32602, message: expect.stringContaining('has already ended. Call the tool without task') },
  });
  expect(seen()).toEqual([{ amount: 6 }]);
});
