import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type AgentRecords, agentRecordKeys, type BoundAgent, type Presented, toAgentRecords, type WaitingItem } from './agent.ts';
import { type BindRequest, bind } from './bind.ts';
import { isWaiting, requestApproval } from './waiting-agents.ts';

/** The agent records that issuing PATs reads and writes. Nothing here writes to the registry. */
export function openApplicants(table: Table) {
  return {
    /** The records that a PAT request depends on, in one round trip. */
    async recordsOf(
      agentId: string,
      thumbprint: string,
      { domain, nowMs = Date.now() }: { domain?: string | undefined; nowMs?: number } = {},
    ): Promise<AgentRecords> {
      const own = [keys.waiting(agentId, thumbprint), keys.waitingAgents(), ...agentRecordKeys(agentId, thumbprint)];
      const ofDomain = domain === undefined ? [] : [keys.approvedDomain(domain)];
      const [wait, queue, ...known] = await table.getAll<WaitingItem>([...own, ...ofDomain]);
      const isDomainApproved = domain !== undefined && known.at(-1) !== undefined;
      return { ...toAgentRecords(known), wait, isWaiting: isWaiting(wait, queue, nowMs), isDomainApproved };
    },

    bind: (request: BindRequest, seen: AgentRecords): Promise<BoundAgent | undefined> => bind(table, request, seen),

    requestApproval: (presented: Presented): Promise<void> => requestApproval(table, presented),
  };
}

export type Applicants = ReturnType<typeof openApplicants>;
