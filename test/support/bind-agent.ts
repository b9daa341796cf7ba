import { type BindRequest, openAgents } from '../../functions/core/store/agent.ts';
import type { Table } from '../../functions/core/store/table.ts';

/** Binds an agent_id to a key, as the issue of a PAT does. */
export async function bindAgent(table: Table, agentId: string, thumbprint: string, nowMs: number, more: Partial<BindRequest> = {}) {
  const agents = openAgents(table);
  const standing = await agents.standingOf(agentId, thumbprint);
  return agents.bind({ agentId, thumbprint, nowMs, hasProof: false, mustBeKnown: false, ...more }, standing);
}
