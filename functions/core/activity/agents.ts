import { type ChangeLog, openChangeLog } from '../registry/change-log.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { AgentItem } from './agent.ts';
import { openAgentChanges } from './agent-changes.ts';
import { openApplicants } from './applicants.ts';
import { list, resolve } from './find-agents.ts';
import { findWaiting } from './waiting-agents.ts';

/** @param log - receives changes by admins only */
export function openAgents(table: Table, log: Pick<ChangeLog, 'change'> = openChangeLog(table)) {
  return {
    ...openApplicants(table),
    ...openAgentChanges(table, log),
    find: (agentId: string): Promise<AgentItem | undefined> => table.get<AgentItem>(keys.agent(agentId)),
    findWaiting: findWaiting.bind(undefined, table),
    resolve: resolve.bind(undefined, table),
    list: list.bind(undefined, table),
  };
}

export type Agents = ReturnType<typeof openAgents>;
