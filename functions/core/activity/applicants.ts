import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type BoundAgent, type Presented, readStanding, type Standing, standingKeys, type WaitingItem } from './agent.ts';
import { ask } from './ask.ts';
import { type BindRequest, bind } from './bind.ts';
import { isWaiting } from './waiting-agents.ts';

/** Agents as those see them who issue PATs. Nothing of this writes to the registry. */
export function openApplicants(table: Table) {
  return {
    /** What a PAT request depends on, in one round trip. */
    async standingOf(agentId: string, thumbprint: string, nowMs = Date.now()): Promise<Standing> {
      const own = [keys.waiting(agentId, thumbprint), keys.waitingAgents()];
      const [wait, queue, ...known] = await table.getAll<WaitingItem>([...own, ...standingKeys(agentId, thumbprint)]);
      return { ...readStanding(known), wait, isWaiting: isWaiting(wait, queue, nowMs) };
    },

    bind: (request: BindRequest, seen: Standing): Promise<BoundAgent | undefined> => bind(table, request, seen),

    /** Lets an agent wait for approval. */
    ask: (presented: Presented): Promise<void> => ask(table, presented),
  };
}

export type Applicants = ReturnType<typeof openApplicants>;
