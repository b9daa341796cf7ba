import type { AgentState } from '../../../schemas/agent.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type AgentItem, type FoundAgent, keyOf, sharedIdOf, stateOf, type WaitingItem } from './agent.ts';
import { otherKey, severalIds } from './agent-refusals.ts';
import { isWaiting, type WaitingAgents } from './waiting-agents.ts';

/** How an admin names an agent: by its id, its key, or both. */
export interface NamedAgent {
  agentId?: string | undefined;
  thumbprint?: string | undefined;
  /** whether it may be one that has not asked for anything yet: an id and a key, or also a key alone */
  mayBeNew?: 'pair' | 'key' | undefined;
}

/** How many ids of a key are named to whoever has to choose one. */
const maxIds = 40;

const isThumbprint = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** The agent_ids that a key has, is blocked under, or waits under. */
async function idsOf(table: Table, thumbprint: string, nowMs: number): Promise<string[]> {
  const { pk, sk: end } = keys.agentKey(thumbprint);
  const ids: string[] = [];
  let start: Key | undefined;
  do {
    const { items, lastKey } = await table.query<{ agent_id: string }>(pk, { range: ['<', end], limit: maxIds, start });
    const [queue, ...found] = await table.getAll<AgentItem & WaitingItem>([
      keys.waitingAgents(),
      ...items.flatMap(({ agent_id }) => [keys.agent(agent_id), keys.waiting(agent_id, thumbprint)]),
    ]);
    const isIts = (at: number) => keyOf(found[2 * at]) === thumbprint || isWaiting(found[2 * at + 1], queue, nowMs);
    ids.push(...items.flatMap(({ agent_id }, at) => (isIts(at) ? [agent_id] : [])));
    start = lastKey;
  } while (start && ids.length < maxIds);
  return ids;
}

/**
 * The agent that is meant by an id, a key, or both. A shared id and a key mean the agent of that key. What is called by its key alone has
 * the id that it would have if it shared an empty one, which nobody can present.
 * @returns undefined if there is no such agent
 * @throws ApiError CONFLICT if the key has several ids, or the id belongs to another key
 */
export async function resolve(table: Table, { agentId, thumbprint, mayBeNew }: NamedAgent, nowMs: number): Promise<FoundAgent | undefined> {
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
    keys.waiting(agentId, thumbprint),
    keys.waiting(own, thumbprint),
    keys.waitingAgents(),
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

/** A page of the agents of one state, and what is shown with it. */
export interface AgentPage {
  agents: (AgentItem | WaitingItem)[];
  /** of those who waited: how many had to make room for others */
  displaced?: number;
  /** what the next page follows if there may be more */
  next?: string;
}

/**
 * A page of the agents of one state in the order of their folded ids; it may hold fewer than `count` although more follow.
 * @param after - what the page follows: an agent_id, or for those who wait a place in their queue
 */
export async function list(
  table: Table,
  waiting: WaitingAgents,
  { state, after, count }: { state: AgentState; after: string | undefined; count: number },
  nowMs: number,
): Promise<AgentPage> {
  if (state === 'pending') return waiting.list(after, count, nowMs);
  const { pk } = keys.agentListed(state, '');
  const range = after === undefined ? {} : ({ range: ['>', keys.agentListed(state, after).sk] } as const);
  const { items, lastKey } = await table.query<{ agent_id: string }>(pk, { ...range, limit: count });
  const found = await table.getAll<AgentItem>(items.map(({ agent_id }) => keys.agent(agent_id)));
  // an agent that has expired may still be listed, and another may have changed since the list was read
  const agents = found.filter((agent) => agent !== undefined && stateOf(agent) === state) as AgentItem[];
  const next = lastKey && items.at(-1)?.agent_id;
  return { agents, ...(next !== undefined && { next }) };
}
