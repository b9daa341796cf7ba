import type { AgentState } from '../../../schemas/agent.ts';
import type { Admin } from '../admin/admin.ts';
import { type ChangeLog, openChangeLog } from '../registry/change-log.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { AgentItem, FoundAgent } from './agent.ts';
import { openApplicants } from './applicants.ts';
import { approve } from './approve.ts';
import { block, unblock } from './block.ts';
import { type AgentPage, list, type NamedAgent, resolve } from './find-agents.ts';
import { revoke, unbind } from './remove.ts';
import { openWaitingAgents } from './waiting-agents.ts';

/**
 * The agents of the table. What an admin does is one transaction, and an entry of the log exactly if it took place; what an agent does
 * writes nothing to the registry.
 * @param log - of this deployment, for whoever changes anything for an admin
 */
export function openAgents(table: Table, log: Pick<ChangeLog, 'change'> = openChangeLog(table)) {
  const waiting = openWaitingAgents(table, log);
  return {
    ...openApplicants(table),

    /** The agent, also one that is blocked. */
    find: (agentId: string): Promise<AgentItem | undefined> => table.get<AgentItem>(keys.agent(agentId)),

    /** The keys that wait for approval under an id. */
    findWaiting: waiting.find,

    resolve: (named: NamedAgent, nowMs: number): Promise<FoundAgent | undefined> => resolve(table, named, nowMs),

    list: (state: AgentState, after: string | undefined, count: number, nowMs: number): Promise<AgentPage> =>
      list(table, waiting, { state, after, count }, nowMs),

    approve: (by: Admin, agent: FoundAgent) => log.change(by, approve(waiting, agent)),
    block: (by: Admin, agent: FoundAgent, reason: string) => log.change(by, block(waiting, agent, reason)),
    unblock: (by: Admin, agent: FoundAgent) => log.change(by, unblock(agent)),
    revoke: (by: Admin, agent: FoundAgent) => log.change(by, revoke(agent)),
    unbind: (by: Admin, agent: FoundAgent) => log.change(by, unbind(waiting, agent)),

    /** Forgets everybody who waits for approval. */
    clearWaiting: waiting.clear,
  };
}

export type Agents = ReturnType<typeof openAgents>;
