import type { AgentItem } from '../../functions/core/activity/agent.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import { keys } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';

/** Writes the block of an agent and its key, as the core reads it. */
export async function blockAgent(table: Table, agentId: string): Promise<void> {
  const block = newUlid();
  const agent = await table.get<AgentItem>(keys.agent(agentId));
  await table.update(keys.agent(agentId), { set: { agent_id: agentId, block, blocked_at: Date.now() } });
  if (agent?.thumbprint !== undefined) await table.update(keys.agentKey(agent.thumbprint), { add: [['blocked_by', new Set([block])]] });
}

/** Lifts the block of {@link blockAgent}. */
export async function unblockAgent(table: Table, agentId: string): Promise<void> {
  const agent = await table.get<AgentItem>(keys.agent(agentId));
  const set = { unblocked_at: Date.now() };
  await table.update(keys.agent(agentId), { set, remove: ['block', 'blocked_at'] });
  if (agent?.thumbprint !== undefined) await table.update(keys.agentKey(agent.thumbprint), { set, remove: ['blocked_by'] });
}

/** Invalidates the PATs that an agent has. */
export const revokeAgent = (table: Table, agentId: string): Promise<unknown> =>
  table.update(keys.agent(agentId), { set: { generation: newUlid(), revoked_at: Date.now() } });
