import {
  type AgentKeyItem,
  type AgentRecords,
  agentLifeSeconds,
  agentRecordKeys,
  type BoundAgent,
  isAgentUnchanged,
  isApproved,
  lifeFrom,
  listActive,
  type Presented,
  toAgentRecords,
  type WaitingItem,
} from '../core/activity/agent.ts';
import { newUlid } from '../core/runtime/ulid.ts';
import { keys } from '../core/table/keys.ts';
import type { Table } from '../core/table/table.ts';
import { isWaiting, removeWaiting, requestApproval } from './waiting-agents.ts';

export interface BindRequest extends Presented {
  hasProof: boolean;
  /** see {@link isApproved} */
  mustBeApproved: boolean;
}

/** The agent records that are read and written when a PAT is issued. Nothing here writes to the registry. */
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

    /**
     * Binds the id to the key in one transaction or, if it is bound already, records the issue of another PAT in one update.
     * @returns undefined if the id belongs to another key, is blocked, needs a proof or an approval, or has changed since it was read
     */
    bind: (request: BindRequest, seen: AgentRecords): Promise<BoundAgent | undefined> => bind(table, request, seen),

    requestApproval: (presented: Presented): Promise<void> => requestApproval(table, presented),
  };
}

export type Applicants = ReturnType<typeof openApplicants>;

/** Whether the key's record must be written to require proofs from now on. */
const lacksProof = (key: AgentKeyItem | undefined, nowMs: number): boolean =>
  !key?.proof || (key.expires_at ?? 0) <= nowMs / 1000 + agentLifeSeconds / 2;

async function bind(
  table: Table,
  { agentId, thumbprint, nowMs, hasProof, domain, mustBeApproved }: BindRequest,
  records: AgentRecords,
): Promise<BoundAgent | undefined> {
  const { agent, key, wait, isWaiting } = records;
  const isBound = agent?.thumbprint === thumbprint;
  const isOther = agent?.thumbprint !== undefined && !isBound;
  if (agent?.block !== undefined || isOther || (mustBeApproved && !isApproved(records, { thumbprint, domain }))) return undefined;
  const { expires_at, listed_until } = lifeFrom(nowMs);
  const issued = { last_issue: nowMs, expires_at, ...(hasProof && { proof: true as const }), ...(domain !== undefined && { domain }) };
  const withoutDomain = domain === undefined ? ['domain'] : [];
  if (isBound && (agent.listed_until ?? 0) >= expires_at && !(hasProof && lacksProof(key, nowMs))) {
    const renewed = await table.update<BoundAgent>(keys.agent(agentId), {
      set: issued,
      remove: withoutDomain,
      setOnce: { first_seen: nowMs },
      when: [['absent', 'block'], ['=', 'thumbprint', thumbprint], ...(hasProof ? [] : [['absent', 'proof'] as const])],
    });
    return renewed || undefined;
  }
  if (!hasProof && agent?.proof) return undefined;
  const { agent_id = agentId, generation = newUlid(), first_seen = nowMs } = agent ?? {};
  const isAdmittedByDomain = mustBeApproved && !isBound && domain !== undefined;
  const bound = {
    agent_id,
    thumbprint,
    generation,
    first_seen,
    listed_until,
    ...issued,
    ...(isAdmittedByDomain && { admitted_by: domain }),
  };
  const proof = { proof: true, expires_at };
  const outcome = await table.transact([
    { update: keys.agent(agentId), set: bound, remove: withoutDomain, when: isAgentUnchanged(agent) },
    ...(isAdmittedByDomain ? [{ check: keys.approvedDomain(domain), when: [['exists', 'pk'] as const] }] : []),
    ...listActive(agent_id, thumbprint, listed_until),
    hasProof
      ? { update: keys.agentKey(thumbprint), set: proof, when: [['absent', 'blocked_by']] }
      : {
          check: keys.agentKey(thumbprint),
          when: [
            ['absent', 'blocked_by'],
            ['absent', 'proof'],
          ],
        },
    ...removeWaiting(agentId, thumbprint, wait, isWaiting),
  ]);
  return outcome === true ? { ...keys.agent(agentId), ...agent, ...bound } : undefined;
}
