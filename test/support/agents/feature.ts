import { openAgents } from '../../../functions/agents/agents.ts';
import { openApprovedDomains } from '../../../functions/agents/approved-domains.ts';
import { requestApproval } from '../../../functions/agents/waiting-agents.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import { openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import type { LoggedChange } from '../../../schemas/changes.ts';
import { type AdminCase, changes, type Prepare } from '../admin-case.ts';
import type { World } from '../admin-endpoints.ts';
import { bindAgent } from '../bind-agent.ts';
import type { TestedFeature } from '../feature.ts';
import { blockAgent } from '../stop-agent.ts';

let count = 0;

async function newAgent({ table }: World) {
  const agent_id = `agent-${++count}`;
  await bindAgent(table, agent_id, `thumbprint-${count}`);
  return { path: { agent_id } };
}

/** An agent that waits for approval. */
async function newWaitingAgent({ table }: World) {
  const agent_id = `agent-${++count}`;
  await requestApproval(table, { agentId: agent_id, thumbprint: `thumbprint-${count}`, nowMs: Date.now() });
  return { path: { agent_id } };
}

const nothing: Prepare = async () => ({});
const ofAgents = (prepare: Prepare, action?: LoggedChange['action']): AdminCase => ({
  ...(action ? changes('agent', action, prepare) : { prepare }),
  isFullAdminsOnly: true,
});
const named = ['get-agent', 'revoke-agent', 'unblock-agent', 'delete-agent'];

export const agents: TestedFeature = {
  stores: (table, changeLog) => ({
    agents: openAgents(table),
    domains: openApprovedDomains(table, changeLog),
    deferred: openDeferredCalls(table),
    outwait: async () => {},
  }),
  cases: {
    'get-agent': ofAgents(newAgent),
    'revoke-agent': ofAgents(newAgent, 'revoke'),
    'delete-agent': ofAgents(newAgent, 'unbind'),
    'list-agents': ofAgents(nothing),
    'block-agent': ofAgents(async (world) => ({ ...(await newAgent(world)), body: { reason: 'Too many calls' } }), 'block'),
    'unblock-agent': ofAgents(async (world) => {
      const { path } = await newAgent(world);
      await blockAgent(world.table, path.agent_id);
      return { path };
    }, 'unblock'),
    'clear-waiting-agents': ofAgents(async (world) => {
      await newWaitingAgent(world);
      // what the entry is about
      return { path: { agent_id: 'pending' }, query: { state: 'pending' } };
    }, 'clear'),
    'approve-agent': ofAgents(async (world) => ({ ...(await newWaitingAgent(world)), body: {} }), 'approve'),
    'list-agent-domains': ofAgents(nothing),
    'approve-agent-domain': ofAgents(async () => ({ path: { domain: `bot-${++count}.example` } }), 'approve'),
    'remove-agent-domain': ofAgents(async ({ table, changeLog }) => {
      const domain = `bot-${++count}.example`;
      await openApprovedDomains(table, changeLog).approve(operator, domain);
      return { path: { domain } };
    }, 'unbind'),
  },
  invalid: [
    ['list-agents', { query: { state: 'asleep' } }],
    // the agents to remove must be named
    ['clear-waiting-agents', {}],
    ...named.map((name) => [name, { query: { key_thumbprint: 'a'.repeat(101) } }] as const),
    ['approve-agent', { body: { key_thumbprint: 1 } }],
    ['block-agent', { body: {} }],
  ],
};
