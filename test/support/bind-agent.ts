import type { BoundAgent } from '../../functions/core/activity/agent.ts';
import { type Application, type IssueCheck, openAgentBinder } from '../../functions/core/pat/bind-agent.ts';
import type { Table } from '../../functions/core/table/table.ts';

/** The records of an agent, as the issue of a PAT reads them. */
export const recordsOf = async (table: Table, agentId: string, thumbprint: string) =>
  (await openAgentBinder(table).read({ agentId, thumbprint, nowMs: Date.now(), hasProof: false })).records;

/** Binds an agent_id to a key, as the issue of a PAT does. */
export async function bindAgent(
  table: Table,
  agentId: string,
  thumbprint: string,
  nowMs = Date.now(),
  more: Partial<Application> = {},
  checks: readonly IssueCheck[] = [],
): Promise<BoundAgent | undefined> {
  const binder = openAgentBinder(table, checks);
  return binder.bind(await binder.read({ agentId, thumbprint, nowMs, hasProof: false, ...more }));
}
