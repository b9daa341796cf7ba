import { openAgents } from '../../functions/agents/agents.ts';
import type { BindRequest } from '../../functions/agents/applicants.ts';
import type { Table } from '../../functions/core/table/table.ts';

/** Binds an agent_id to a key, as the issue of a PAT does. */
export async function bindAgent(table: Table, agentId: string, thumbprint: string, nowMs: number, more: Partial<BindRequest> = {}) {
  const agents = openAgents(table);
  const records = await agents.recordsOf(agentId, thumbprint);
  return agents.bind({ agentId, thumbprint, nowMs, hasProof: false, mustBeApproved: false, ...more }, records);
}
