import type { Planned, Read } from '../registry/change-log.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Write } from '../table/table.ts';
import { newUlid } from '../ulid.ts';
import {
  type AgentItem,
  type AgentKeyItem,
  asSeen,
  changeOf,
  type FoundAgent,
  idOfKey,
  isOfAnother,
  keyOf,
  lifeFrom,
  listActive,
  noChange,
  sharedIdOf,
} from './agent.ts';
import type { WaitingAgents } from './waiting-agents.ts';

/**
 * Blocks the id, whether or not anybody has it, and the key that has it. Nobody who asks for a PAT or uses one after this gets by. A key
 * that waits under the id of another is blocked without it.
 * @param reason - for admins
 */
export const block =
  (waiting: WaitingAgents, { agentId: named, thumbprint }: FoundAgent, reason: string) =>
  async (read: Read): Promise<Planned<AgentItem>> => {
    const [first] = await read<AgentItem>([keys.agent(named)]);
    const isAnother = thumbprint !== undefined && isOfAnother(first, thumbprint);
    const id = isAnother ? sharedIdOf(named, thumbprint) : named;
    const [agent] = isAnother ? await read<AgentItem>([keys.agent(id)]) : [first];
    const key = keyOf(agent) ?? thumbprint ?? only(await waiting.find(named));
    if (agent?.block !== undefined && agent.block_reason === reason && keyOf(agent) === key) return noChange(agent);

    const { agent_id = id, block = newUlid(), blocked_at = Date.now() } = agent ?? {};
    const blocked_key = agent?.thumbprint === undefined ? key : undefined;
    const blocked = { agent_id, block, blocked_at, block_reason: reason, ...(blocked_key !== undefined && { blocked_key }) };
    const { writes: ended } = key === undefined ? { writes: [] } : await waiting.end(read, named, key);
    const onKey = (thumbprint: string): Write[] => [
      { update: keys.agentKey(thumbprint), add: [['blocked_by', new Set([block])]], remove: ['expires_at'] },
      idOfKey(thumbprint, agent_id),
      ...(isAnother ? [{ delete: keys.idOfKey(thumbprint, named) }] : []),
    ];
    const { expires_at, ...kept } = agent ?? {};
    return changeOf('block', agent_id, { ...kept, ...blocked }, [
      { update: keys.agent(id), set: blocked, remove: ['expires_at'], when: asSeen(agent) },
      { put: { ...keys.agentListed('blocked', agent_id), agent_id } },
      { delete: keys.agentListed('active', agent_id) },
      ...(key === undefined ? [] : onKey(key)),
      ...ended,
    ]);
  };

const only = (asked: { thumbprint: string }[]): string | undefined => (asked.length === 1 ? asked[0]?.thumbprint : undefined);

/** Lifts the block of the id and of the key that it holds for: other blocks of the key stay. The result is undefined if there is none. */
export function unblock({ agentId, thumbprint }: FoundAgent) {
  let seen: string | undefined;
  return async (read: Read): Promise<Planned<true | undefined>> => {
    const [agent] = await read<AgentItem>([keys.agent(agentId)]);
    // a block that came by a later attempt stays
    seen ??= agent?.block;
    if (agent?.block === undefined || agent.block !== seen || isOfAnother(agent, thumbprint)) return noChange(undefined);
    const { agent_id } = agent;
    const key = keyOf(agent);
    return changeOf('unblock', agent_id, true, [
      ...lift(keys.agent(agentId), agent),
      { delete: keys.agentListed('blocked', agent_id) },
      ...(key === undefined ? [] : await liftFromKey(read, key, agent.block)),
    ]);
  };
}

/** Nothing is left of an id that no key has. */
function lift(key: Key, agent: AgentItem): Write[] {
  const { agent_id, thumbprint, blocked_key } = agent;
  const when = asSeen(agent);
  if (thumbprint === undefined)
    return [{ delete: key, when }, ...(blocked_key === undefined ? [] : [{ delete: keys.idOfKey(blocked_key, agent_id) }])];
  const life = lifeFrom(Date.now());
  return [
    { update: key, set: life, remove: ['block', 'blocked_at', 'block_reason'], when },
    ...listActive(agent_id, thumbprint, life.listed_until),
  ];
}

async function liftFromKey(read: Read, thumbprint: string, block: string): Promise<Write[]> {
  const [key] = await read<AgentKeyItem>([keys.agentKey(thumbprint)]);
  const isLast = [...(key?.blocked_by ?? [])].every((one) => one === block);
  const { expires_at } = lifeFrom(Date.now());
  return [{ update: keys.agentKey(thumbprint), take: { blocked_by: new Set([block]) }, ...(isLast && { set: { expires_at } }) }];
}
