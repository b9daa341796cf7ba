import type { Planned, Read } from '../registry/change-log.ts';
import { keys } from '../table/keys.ts';
import { newUlid } from '../ulid.ts';
import { type AgentItem, type AgentKeyItem, asSeen, changeOf, type FoundAgent, lifeFrom, listActive, noChange } from './agent.ts';
import { isBlockedAlready, onlyOne, otherKey } from './agent-refusals.ts';
import type { WaitingAgents } from './waiting-agents.ts';

/**
 * Lets an agent have PATs, whether or not it has asked for one. Without a key, the one is meant that has the id or alone waits under it.
 * @returns a plan whose result is undefined if no key is meant
 * @throws ApiError CONFLICT if several keys wait and none is named, if the id belongs to another key, or if the agent or its key is blocked
 */
export function approve(waiting: WaitingAgents, { agentId, thumbprint }: FoundAgent) {
  let key = thumbprint;
  return async (read: Read): Promise<Planned<AgentItem | undefined>> => {
    const [agent] = await read<AgentItem>([keys.agent(agentId)]);
    if (agent?.block !== undefined) throw isBlockedAlready();
    // a key that asks, or gets the id, by a later attempt was not meant
    key ??= agent?.thumbprint ?? onlyOne(await waiting.find(agentId))?.thumbprint;
    if (key === undefined) return noChange(undefined);
    if (agent?.thumbprint !== undefined) {
      if (agent.thumbprint !== key) throw otherKey();
      return noChange(agent);
    }
    const [onKey] = await read<AgentKeyItem>([keys.agentKey(key)]);
    if (onKey?.blocked_by?.size) throw isBlockedAlready();
    const { wait, writes } = await waiting.end(read, agentId, key);
    const { listed_until, expires_at } = lifeFrom(Date.now());
    const { agent_id } = wait ?? { agent_id: agentId };
    const first_seen = wait && { first_seen: wait.first_seen };
    const approved = { agent_id, thumbprint: key, generation: newUlid(), ...first_seen, listed_until, expires_at };
    const bound = { update: keys.agent(agentId), set: approved, when: asSeen(agent) };
    return changeOf('approve', agent_id, approved, [bound, ...listActive(agent_id, key, listed_until), ...writes]);
  };
}
