import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Client, UrlElicitationRequiredError } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connect, Deferred, type IntentGate, Refusal } from '../../../client/connect.ts';
import { approvalPage, decided } from '../../../schemas/approvals/approvals.ts';
import { executionState } from '../../../schemas/deferred.ts';
import { openCommandLine } from '../../bin/cli/command-line.ts';
import { makeFolder } from '../../support/folder.ts';
import { installPythonClient } from '../../support/python.ts';
import { type Answer, bodyOf } from '../api.ts';
import { startRefunds, uid } from '../refunds.ts';

const busyAmount = 7;
const events: [string, unknown][] = [];
const { api, upstream, pat, seen, decide } = await startRefunds(
  ({ body }, response) => {
    const status = JSON.parse(body).amount === busyAmount ? 429 : 200;
    response.writeHead(status, { 'Content-Type': 'application/json' }).end('{"refunded":true}');
  },
  { onEvent: (type, detail) => events.push([type, detail]) },
);
const folder = makeFolder();

const refund = (amount: number, key: string, headers: Record<string, string> = {}): Promise<Answer> =>
  api.execute(pat, uid, { amount }, { 'Idempotency-Key': key, ...headers });

/** Reads again and again, until this holds for what it reads. */
async function until<T>(read: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await read();
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The state of an execution, once it is no longer one of these. */
const stateAfter = (execution: string, ...passing: string[]) =>
  until(
    async () => executionState.parse(bodyOf(await api.call('GET', new URL(execution).pathname, { token: pat }))),
    ({ status }) => !passing.includes(status),
  );

test('a refund of 499 is made at once; one of 501 waits for a person, and is made once', async () => {
  expect(bodyOf(await refund(499, 'small'))).toEqual({ refunded: true });
  const asked = await refund(501, 'large');
  const { execution } = bodyOf(asked, 202);
  const id = execution.split('/').at(-1);
  expect(await stateAfter(execution)).toMatchObject({ status: 'waiting' });

  const { approvals } = approvalPage.parse(bodyOf(await api.asAdmin('GET', '/api/approvals')));
  expect(approvals).toMatchObject([{ id, agent_id: 'ann', intent_uid: uid, parameters: { amount: 501 } }]);
  const [{ digest, since, expires_at } = { digest: '' }] = approvals;
  expect(events).toEqual([
    [
      'approval.waiting',
      { gate: api.stack.base_url, id, agent_id: 'ann', key_thumbprint: expect.any(String), intent_uid: uid, since, expires_at, digest },
    ],
  ]);

  const approve = () => api.asAdmin('POST', `/api/approvals/${id}`, { decision: 'approve' }, { 'If-Match': `"${digest}"` });
  expect(decided.parse(bodyOf(await approve()))).toMatchObject({ id, decision: 'approve', decided_by: 'admin' });
  expect(bodyOf(await approve(), 409).error.code).toBe('CONFLICT');
  expect(await stateAfter(execution, 'working')).toEqual({ status: 'done', execution, outcome: { status: 200, body: { refunded: true } } });
  expect(bodyOf(await refund(501, 'large'))).toEqual({ refunded: true });
  expect(seen()).toEqual([{ amount: 499 }, { amount: 501 }]);
});

test('the command line shows, approves and denies', async () => {
  const { run } = await openCommandLine(folder, { INTENT_GATE_URL: api.stack.base_url, INTENT_GATE_TOKEN: api.stack.admin_token });
  const [first, second] = [bodyOf(await refund(700, 'first'), 202), bodyOf(await refund(800, 'second'), 202)];
  const [one = '', two = ''] = [first, second].map(({ execution }) => execution.split('/').at(-1));
  expect(await run(['approvals', 'list'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\{"amount":700\}.*\{"amount":800\}/s),
  });
  expect(await run(['approvals', 'show', one])).toMatchObject({ code: 0, stdout: expect.stringContaining('"amount": 700') });
  expect(await run(['approvals', 'approve', one, '--yes'])).toMatchObject({ code: 0, stdout: 'Approved. The call is made now, once.\n' });
  expect(await run(['approvals', 'deny', two, '--yes', '--reason', 'Too much', '--json'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"decision": "deny"'),
  });
  expect(await stateAfter(first.execution, 'working')).toMatchObject({ status: 'done', outcome: { status: 200 } });
  expect(await stateAfter(second.execution)).toMatchObject({ status: 'denied', reason: 'Too much' });
  expect(await run(['approvals', 'approve', two, '--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No call with this id is waiting for your approval'),
  });
  expect(await run(['approvals', 'list'])).toMatchObject({ code: 0, stderr: 'No calls are waiting for your approval.\n' });
});

test('the command line denies every waiting call of an agent at once, and no call of another', async () => {
  const { run } = await openCommandLine(folder, { INTENT_GATE_URL: api.stack.base_url, INTENT_GATE_TOKEN: api.stack.admin_token });
  const mine: Record<string, string>[] = [];
  for (const amount of [710, 720, 730]) mine.push(bodyOf(await refund(amount, `all-${amount}`), 202));
  const token = await api.obtainPat('bob');
  const theirs = bodyOf(await api.execute(token, uid, { amount: 740 }, { 'Idempotency-Key': 'bob' }), 202).execution;
  expect(await run(['approvals', 'deny', '--agent', 'ann', '--yes', '--reason', 'Enough'])).toMatchObject({
    code: 0,
    stdout: 'Denied 3 calls of ann. To keep it from asking again, use "agents block".\n',
  });
  for (const { execution = '' } of mine) expect(await stateAfter(execution)).toMatchObject({ status: 'denied', reason: 'Enough' });
  expect(await run(['approvals', 'deny', '--agent', 'ann', '--yes'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Denied 0 /),
  });
  const neither = { code: 3, stderr: expect.stringContaining('Give either the id of a call or --agent.') };
  for (const words of [[], [theirs.split('/').at(-1) ?? '', '--agent', 'bob']])
    expect(await run(['approvals', 'deny', ...words, '--yes'])).toMatchObject(neither);
  expect(bodyOf(await api.call('GET', new URL(theirs).pathname, { token }))).toMatchObject({ status: 'waiting' });
  await decide('deny');
});

test('a block of the agent frees its places, and its calls stay void once it is lifted', async () => {
  const token = await api.obtainPat('carol');
  const ask = (at: number) => api.execute(token, uid, { amount: 800 + at }, { 'Idempotency-Key': `carol-${at}` });
  const asked: Record<string, string>[] = [];
  for (let at = 0; at < 20; at++) asked.push(bodyOf(await ask(at), 202));
  expect(bodyOf(await ask(20), 429).error.details).toMatchObject({ reason: 'waiting_calls' });
  bodyOf(await api.asAdmin('PUT', '/api/agents/carol/block', { reason: 'Too many' }));
  expect(approvalPage.parse(bodyOf(await api.asAdmin('GET', '/api/approvals'))).approvals).toEqual([]);
  await api.asAdmin('DELETE', '/api/agents/carol/block');
  const state = bodyOf(await api.call('GET', new URL(asked[0]?.execution ?? '').pathname, { token }));
  expect(state).toMatchObject({ status: 'expired', reason: expect.stringMatching(/^The agent has been blocked since/) });
  bodyOf(await ask(20), 202);
  await decide('deny');
});

describe('the TypeScript client', () => {
  let client: IntentGate;
  beforeAll(async () => {
    client = await connect(api.stack.base_url, { agentId: 'typescript', onPolicy: () => true, dpop: true });
  });

  test('the TypeScript client waits for the decision if it is told to, and says what it waits for', async () => {
    const states: string[] = [];
    const answered = client.execute(uid, { amount: 900 }, { wait: ({ status }) => states.push(status) });
    await decide('approve');
    expect(await answered).toEqual({ refunded: true });
    expect(states[0]).toBe('waiting');
    const denied = client.execute(uid, { amount: 901 }, { wait: true }).catch((error: unknown) => error);
    await decide('deny');
    expect(await denied).toMatchObject({
      code: 'FORBIDDEN',
      details: { reason: 'denied' },
      message: 'An admin denied this call: Too much',
    });
    expect(await denied).toBeInstanceOf(Refusal);
  });

  test('the TypeScript client that does not wait says how to read what becomes of the call', async () => {
    const error = await client.execute(uid, { amount: 902 }, { idempotencyKey: 'mine' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Deferred);
    const { state, idempotencyKey } = error as Deferred;
    expect([state.status, idempotencyKey]).toEqual(['waiting', 'mine']);
    expect(await client.readExecution(state.execution)).toEqual(state);
    await decide('approve');
    expect(await client.execute(uid, { amount: 902 }, { idempotencyKey: 'mine', wait: true })).toEqual({ refunded: true });
    expect(await client.readExecution(state.execution)).toMatchObject({ status: 'done', outcome: { status: 200 } });
    const started = await client.execute(uid, { amount: 1 }, { respondAsync: true }).catch((thrown: unknown) => thrown);
    expect(started).toMatchObject({ code: 'DEFERRED', state: { status: 'working' } });
    expect(await client.execute(uid, { amount: 1 }, { respondAsync: true, wait: true })).toEqual({ refunded: true });
  });

  test('the TypeScript client does not make a call again that ended in a temporary refusal', async () => {
    const seen = upstream.seen.length;
    const failed = client.execute(uid, { amount: busyAmount }, { respondAsync: true, wait: true });
    await expect(failed).rejects.toMatchObject({ name: 'Refusal', details: { upstream_status: 429 } });
    expect(upstream.seen.length).toBe(seen + 1);
  });

  test('the TypeScript client stops waiting when its signal is aborted', async () => {
    const controller = new AbortController();
    const wait = () => controller.abort(new Error('enough'));
    await expect(client.execute(uid, { amount: 903 }, { wait, signal: controller.signal })).rejects.toThrow('enough');
    await decide('deny');
  });
});

const script = `
import asyncio, sys, tempfile
from intent_gate import AsyncIntentGate, Deferred, IntentGate, Key, Refusal
url, uid = sys.argv[1:]
key = Key.at(tempfile.mkdtemp() + "/agent.key")
gate = IntentGate(url, "python", key, lambda *_: True)
states = []
print(gate.execute(uid, {"amount": 910}, wait=lambda state: states.append(state["status"])), states[0])
try:
    gate.execute(uid, {"amount": 911})
except Deferred as error:
    execution = error.state["execution"]
    print(error.code, error.state["status"], gate.read_execution(execution)["execution"] == execution)
    try:
        gate.execute(uid, {"amount": 911}, error.idempotency_key, wait=True)
    except Refusal as refusal:
        print(refusal)
try:
    gate.execute(uid, {"amount": ${busyAmount}}, wait=True, respond_async=True)
except Refusal as refusal:
    print(refusal.details["upstream_status"])
async def main():
    shown = []
    answer = await AsyncIntentGate(url, "python", key, lambda *_: True).execute(uid, {"amount": 1}, wait=shown.append, respond_async=True)
    print(answer, [state["status"] for state in shown])
asyncio.run(main())
`;

test('the client in Python waits, too', async () => {
  const environment = await installPythonClient();
  if (!environment) return;
  const running = promisify(execFile)(join(environment, 'bin', 'python'), ['-c', script, api.stack.base_url, uid]);
  await decide('approve');
  await decide('deny');
  expect((await running).stdout.split('\n')).toEqual([
    "{'refunded': True} waiting",
    'DEFERRED waiting True',
    'FORBIDDEN: An admin denied this call: Too much',
    '429',
    "{'refunded': True} ['working']",
    '',
  ]);
});

test('the command line waits when it tries an intent, and says who decides', async () => {
  const { run } = await openCommandLine(folder, { INTENT_GATE_URL: api.stack.base_url });
  const tried = run(['try', '--intent', uid, '--param', 'amount=920', '--accept-policy']);
  const id = await decide('approve');
  expect(await tried).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"refunded": true'),
    stderr: expect.stringMatching(new RegExp(`The call waits for approval until .*: intent-gate approvals approve ${id}`)),
  });
});

test('the MCP bridge passes on the pages and tasks of its host, with a PAT of its own', async () => {
  const program = ['client/mcp-stdio.ts', api.stack.base_url, '--folder', folder];
  const host = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { url: {} } } });
  try {
    await promisify(execFile)(process.execPath, ['bin/intent-gate.js', 'mcp', 'accept', ...program.slice(1), '--yes']);
    await host.connect(new StdioClientTransport({ command: process.execPath, args: program, stderr: 'inherit' }));
    const call = { name: 'execute_intent', arguments: { intent_uid: uid, parameters: { amount: 930 } } };
    const first = await host.callTool(call).catch((error: unknown) => error);
    expect(first).toBeInstanceOf(UrlElicitationRequiredError);
    await decide('approve');
    const made = async () => (await host.callTool(call)).structuredContent as { status?: string };
    expect(await until(made, ({ status }) => status !== 'working')).toEqual({ refunded: true });

    const asIs = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } };
    const ask = async (method: string, params: Record<string, unknown>) =>
      (await host.request({ method, params }, asIs)) as Record<string, Record<string, string>>;
    const { task } = await ask('tools/call', {
      name: 'execute_intent',
      arguments: { intent_uid: uid, parameters: { amount: 931 } },
      task: {},
    });
    expect(await ask('tasks/get', { taskId: task?.taskId })).toMatchObject({ status: 'working', ttl: 86_400_000 });
    await decide('approve');
    await until(
      () => ask('tasks/get', { taskId: task?.taskId }),
      ({ status }) => String(status) !== 'working',
    );
    expect(await ask('tasks/result', { taskId: task?.taskId })).toMatchObject({ structuredContent: { refunded: true } });
  } finally {
    await host.close();
  }
});
