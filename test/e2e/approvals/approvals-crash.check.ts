import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import type { StackDescription } from '../../../bin/local/stack-file.ts';
import { connect, Deferred, type ExecuteOptions, type IntentGate, openMemoryKeyStore } from '../../../client/connect.ts';
import { approvalPage } from '../../../schemas/approvals/approvals.ts';
import { makeFolder } from '../../support/folder.ts';
import { findFreePort, startLocal } from '../../support/local-process.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { startUpstream } from '../../support/upstream.ts';

const uid = 'payments.example:refund:v1';
/** Never answers small refunds, so that their calls run until the gate is killed. */
const upstream = await startUpstream(({ body }, response) => {
  if (JSON.parse(String(body)).amount > 500) response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"refunded":true}');
});
let child: ChildProcess | undefined;
afterAll(async () => {
  child?.kill('SIGKILL');
  await upstream.stop();
});
const folder = makeFolder();

/** A PAT is for one address, so that each start has the same port. */
const port = String(await findFreePort());

async function start(): Promise<StackDescription> {
  const policy = resolve('samples/policies/large-refunds-need-a-person.json');
  // The settings of the other tests of approvals, so that all of them take one synthesis.
  const options = ['--data', join(folder, 'data'), '--policy', policy, '-c', 'agentIds=bound'];
  const started = await startLocal(folder, options, { PORT: port });
  child = started.child;
  return started.description;
}

test('kill -9 with 20 waiting and 5 running calls loses none and repeats none', async () => {
  let stack = await start();
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(stack.base_url + path, {
      method,
      headers: { Authorization: `Bearer ${stack.admin_token}`, 'Content-Type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBeLessThan(300);
    // biome-ignore lint/suspicious/noExplicitAny: answers of several endpoints
    return (await answer.json()) as any;
  };
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/refunds`, method: 'POST', content_type: 'application/json' };
  const { service_id } = await call('POST', '/api/services', serviceNamed('Payments'));
  const input_parameters = [{ name: 'amount', type: 'integer' as const, required: true }];
  await call('POST', `/api/services/${service_id}/intents`, { ...intentOf(uid, { input_parameters }), endpoint });

  const keyStore = openMemoryKeyStore();
  const open = () => connect(stack.base_url, { agentId: 'agent', keyStore, onPolicy: () => true, maxWaitMs: 5_000 });
  const ask = async (client: IntentGate, amount: number, options: ExecuteOptions = {}) =>
    client.execute(uid, { amount }, { idempotencyKey: `refund-${amount}`, ...options }).then(
      (answer) => answer as object,
      (error: unknown) => (error instanceof Deferred ? error.state : (error as { code: string }).code),
    );
  const amounts = Array.from({ length: 20 }, (_, at) => 501 + at);
  const small = [1, 2, 3, 4, 5];
  let client = await open();
  const waiting = [];
  for (const amount of amounts) waiting.push(await ask(client, amount));
  expect(waiting).toEqual(amounts.map(() => expect.objectContaining({ status: 'waiting' })));
  expect(await ask(client, 999)).toBe('TOO_MANY_REQUESTS');
  const working = await Promise.all(small.map((amount) => ask(client, amount, { respondAsync: true })));
  while (upstream.seen.length < small.length) await sleep(50);

  child?.kill('SIGKILL');
  await once(child as ChildProcess, 'exit');
  stack = await start();
  client = await open();

  // nobody knows what became of a call that was being made: it is not made again
  for (const [at, amount] of small.entries()) expect(await ask(client, amount, { respondAsync: true })).toEqual(working[at]);
  expect(await ask(client, 999)).toBe('TOO_MANY_REQUESTS');
  for (const [at, amount] of amounts.entries()) expect(await ask(client, amount)).toEqual(waiting[at]);
  const shown: unknown[] = [];
  for (;;) {
    const { approvals } = approvalPage.parse(await call('GET', '/api/approvals'));
    if (approvals.length === 0) break;
    for (const { id, digest } of approvals)
      await call('POST', `/api/approvals/${id}`, { decision: 'approve' }, { 'If-Match': `"${digest}"` });
    shown.push(...approvals.map(({ parameters }) => parameters.amount));
  }
  expect(shown).toEqual(amounts);
  for (const amount of amounts) expect(await ask(client, amount, { wait: true })).toEqual({ refunded: true });
  const seen = upstream.seen.map(({ body }) => JSON.parse(String(body)).amount);
  expect(seen.toSorted((one, other) => one - other)).toEqual([...small, ...amounts]);
}, 240_000);
