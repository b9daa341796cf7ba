import { afterAll, expect, test } from '@jest/globals';
import { approvalPage, decided, executionState } from '../../schemas/deferred.ts';
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
