import { expect, test } from '@jest/globals';
import { openAgents } from '../../../functions/agents/agents.ts';
import { createAction } from '../../../functions/agents/block-agent.ts';
import { openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import { admin, openApprovalParts } from '../../support/approvals/approval-parts.ts';
import { approvalTemplate } from '../../support/deferred.ts';
import { startExecuting } from '../../support/executing.ts';
import { execute, newAgent, obtainPat } from '../../support/gate.ts';
import { byAdmin, invoke, refusalOf } from '../../support/invoke.ts';
import { intentOf } from '../../support/records.ts';
import { unblockAgent } from '../../support/stop-agent.ts';

const { gate, upstream, serviceId, endpointAt } = await startExecuting(undefined, { namespace: 'pay.example' });
const parts = openApprovalParts(gate);

test("a block makes the agent's waiting calls void before it is answered", async () => {
  const { table } = gate.database;
  const intentUid = 'pay.example:refund:v1';
  await gate.intents.create(serviceId, intentOf(intentUid, { endpoint: endpointAt() }));
  const agent = await newAgent();
  const { agentId } = agent;
  const pat = await obtainPat(gate, agent, approvalTemplate());
  const steps = parts.openExecute({ template: approvalTemplate() });
  const ask = async (code: string, headers: Record<string, string>) => {
    const { body } = await execute(steps, pat, intentUid, { code }, headers);
    return String(body.execution).split('/').at(-1) ?? '';
  };
  const id = await ask('FR', { 'Idempotency-Key': 'first' });
  const { digest } = await parts.shown(id);
  await ask('FR', { 'Idempotency-Key': 'second' });
  const background = await ask('DE', { 'Idempotency-Key': 'third', Prefer: 'respond-async' });

  const block = byAdmin(createAction({ agents: openAgents(table), deferred: openDeferredCalls(table), outwait: async () => {} }));
  const body = { reason: 'Enough' };
  expect((await invoke(block, 'PUT /api/agents/{agent_id}/block', { path: { agent_id: agentId }, body })).status).toBe(200);
  expect((await parts.list(admin, { agent_id: agentId })).body.approvals).toEqual([]);
  const refused = { status: 409, code: 'CONFLICT', details: { reason: 'no_longer_holds' } };
  expect(refusalOf(await parts.decide(id, `"${digest}"`))).toMatchObject(refused);
  await unblockAgent(table, agentId);
  for (const one of [id, background])
    expect((await parts.read(one, pat)).body).toMatchObject({
      status: 'expired',
      reason: expect.stringMatching(/^The agent has been blocked since/),
    });
  await parts.openWorker()(background);
  expect(upstream.seen).toEqual([]);
});
