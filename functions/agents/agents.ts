import type { AgentState } from '../../schemas/agents/agents.ts';
import { type AgentItem, type FoundAgent, sharedIdOf } from '../core/activity/agent.ts';
import { type ChangeLog, openChangeLog } from '../core/registry/change-log.ts';
import { keys } from '../core/table/keys.ts';
import { pagesOf } from '../core/table/pages.ts';
import type { Table } from '../core/table/table.ts';
import { openAgentChanges } from './agent-changes.ts';
import { approvalKeys, keyOf, stateOf, type WaitingItem } from './records.ts';
import { otherKey, severalIds } from './refusals.ts';
import { findWaiting, isWaiting, listWaiting } from './waiting-agents.ts';

/** How an admin names an agent: by its id, its key, or both. */
export interface NamedAgent {
  agentId?: string | undefined;
  thumbprint?: string | undefined;
  /** accepts an unknown agent, named by id and key (`pair`) or by its key alone (`key`) */
  mayBeNew?: 'pair' | 'key' | undefined;
}

/** @param log - receives changes by admins only */
export function openAgents(table: Table, log: Pick<ChangeLog, 'change'> = openChangeLog(table)) {
  return {
    ...openAgentChanges(table, log),
    find: (agentId: string): Promise<AgentItem | undefined> => table.get<AgentItem>(keys.agent(agentId)),
    findWaiting: findWaiting.bind(undefined, table),
    resolve: resolve.bind(undefined, table),
    list: list.bind(undefined, table),
  };
}

export type Agents = ReturnType<typeof openAgents>;

const maxIds = 40;

const isThumbprint = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** The agent_ids that a key is bound to, is blocked with, or waits under. */
async function idsOf(table: Table, thumbprint: string, nowMs: number): Promise<string[]> {
  const { pk, sk: end } = keys.agentKey(thumbprint);
  const ids: string[] = [];
  for await (const items of pagesOf<{ agent_id: string }>(table, pk, { range: ['<', end], limit: maxIds })) {
    const [queue, ...found] = await table.getAll<AgentItem & WaitingItem>([
      approvalKeys.waitingAgents(),
      ...items.flatMap(({ agent_id }) => [keys.agent(agent_id), approvalKeys.waiting(agent_id, thumbprint)]),
    ]);
    const isIts = (at: number) => keyOf(found[2 * at]) === thumbprint || isWaiting(found[2 * at + 1], queue, nowMs);
    ids.push(...items.flatMap(({ agent_id }, at) => (isIts(at) ? [agent_id] : [])));
    if (ids.length >= maxIds) break;
  }
  return ids;
}

/**
 * Resolves an id, a key, or both to an agent. A shared id with a key resolves to that key's agent. An unknown agent that is named by its key alone
 * gets the id that it would have under an empty shared agent_id, which no agent can present.
 * @returns undefined if there is no such agent
 * @throws ApiError CONFLICT if the key has several ids, or the id belongs to another key
 */
async function resolve(table: Table, { agentId, thumbprint, mayBeNew }: NamedAgent, nowMs: number): Promise<FoundAgent | undefined> {
  if (thumbprint === undefined) return agentId === undefined ? undefined : { agentId };
  if (agentId === undefined) {
    const ids = await idsOf(table, thumbprint, nowMs);
    if (ids.length > 1) throw severalIds(ids);
    const alone = mayBeNew === 'key' && isThumbprint(thumbprint) ? sharedIdOf('', thumbprint) : undefined;
    const found = ids[0] ?? alone;
    return found === undefined ? undefined : { agentId: found, thumbprint };
  }
  const own = sharedIdOf(agentId, thumbprint);
  const [agent, shared, wait, ownWait, queue] = await table.getAll<AgentItem & WaitingItem>([
    keys.agent(agentId),
    keys.agent(own),
    approvalKeys.waiting(agentId, thumbprint),
    approvalKeys.waiting(own, thumbprint),
    approvalKeys.waitingAgents(),
  ]);
  const owner = keyOf(agent);
  const waits = isWaiting(wait, queue, nowMs);
  const isFree = owner === undefined && (agent !== undefined || waits || mayBeNew !== undefined);
  if (owner === thumbprint || isFree) return { agentId, thumbprint };
  if (keyOf(shared) === thumbprint || isWaiting(ownWait, queue, nowMs)) return { agentId: own, thumbprint };
  if (waits) return { agentId, thumbprint };
  if (owner === undefined) return undefined;
  throw otherKey();
}

interface AgentPage {
  agents: (AgentItem | WaitingItem)[];
  /** for waiting agents: number of requests dropped to make room since the queue was last cleared */
  displaced?: number;
  next?: string;
}

/**
 * A page of the agents in one state, ordered by folded id. It may contain fewer than `count` although more follow.
 * @param after - the last agent_id of the previous page; for waiting agents, the place in the queue
 */
async function list(table: Table, state: AgentState, after: string | undefined, count: number, nowMs: number): Promise<AgentPage> {
  if (state === 'pending') return listWaiting(table, after, count, nowMs);
  const { pk } = keys.agentListed(state, '');
  const range = after === undefined ? undefined : (['>', keys.agentListed(state, after).sk] as const);
  const { items, lastKey } = await table.query<{ agent_id: string }>(pk, { range, limit: count });
  const found = await table.getAll<AgentItem>(items.map(({ agent_id }) => keys.agent(agent_id)));
  // a listed agent may have expired, or have changed since the list was read
  const agents = found.filter((agent) => agent !== undefined && stateOf(agent) === state) as AgentItem[];
  const next = lastKey && items.at(-1)?.agent_id;
  return { agents, ...(next !== undefined && { next }) };
}
