import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { approvalPage, decided, executionState } from '../../schemas/deferred.ts';
import { openCommandLine } from '../bin/cli/command-line.ts';
import { intentOf } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';
import { type Answer, bodyOf, startApi } from './api.ts';

const upstream = await startUpstream((_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"refunded":true}');
});
const events: [string, unknown][] = [];
const api = await startApi({
  policyFile: 'samples/policies/large-refunds-need-a-person.json',
  onEvent: (type, detail) => events.push([type, detail]),
});
afterAll(async () => {
  await api.stop();
  await upstream.stop();
});

const uid = 'payments.example:refund:v1';
const service_id = await api.createService();
const endpoint = { url: `http://127.0.0.1:${upstream.port}/refunds`, method: 'POST', content_type: 'application/json' } as const;
const input_parameters = [{ name: 'amount', type: 'number', required: true } as const];
bodyOf(await api.asAdmin('POST', `/api/services/${service_id}/intents`, { ...intentOf(uid, { endpoint, input_parameters }) }), 201);
const pat = await api.obtainPat('ann');

const refund = (amount: number, key: string, headers: Record<string, string> = {}): Promise<Answer> =>
  api.execute(pat, uid, { amount }, { 'Idempotency-Key': key, ...headers });

/** The state of an execution, once it is no longer one of these. */
async function stateAfter(execution: string, ...passing: string[]) {
  for (;;) {
    const state = executionState.parse(bodyOf(await api.call('GET', new URL(execution).pathname, { token: pat })));
    if (!passing.includes(state.status)) return state;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

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

  const clicks = await Promise.all(
    Array.from({ length: 100 }, () => api.asAdmin('POST', `/api/approvals/${id}`, { decision: 'approve' }, { 'If-Match': `"${digest}"` })),
  );
  const effective = clicks.filter(({ status }) => status === 200);
  expect(effective).toHaveLength(1);
  expect(decided.parse(effective[0]?.body)).toMatchObject({ id, decision: 'approve', decided_by: 'admin' });
  expect(await stateAfter(execution, 'working')).toEqual({ status: 'done', execution, outcome: { status: 200, body: { refunded: true } } });
  expect(bodyOf(await refund(501, 'large'))).toEqual({ refunded: true });
  expect(upstream.seen.map(({ body }) => JSON.parse(String(body)))).toEqual([{ amount: 499 }, { amount: 501 }]);
});

test('who prefers not to wait asks for the outcome later', async () => {
  const { execution } = bodyOf(await refund(1, 'later', { Prefer: 'respond-async' }), 202);
  expect(await stateAfter(execution, 'working')).toMatchObject({ status: 'done', outcome: { status: 200, body: { refunded: true } } });
});

test('the command line shows, approves and denies', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'approvals-'));
  try {
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
      stderr: expect.stringContaining('No call with this id waits for your approval'),
    });
    expect(await run(['approvals', 'list'])).toMatchObject({ code: 0, stderr: 'No call waits for your approval.\n' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
