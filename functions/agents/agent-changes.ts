import type { LoggedChange } from '../../schemas/changes.ts';
import {
  type AgentItem,
  type AgentKeyItem,
  type FoundAgent,
  idOfKey,
  isAgentUnchanged,
  lifeFrom,
  listActive,
  sharedIdOf,
} from '../core/activity/agent.ts';
import type { Admin } from '../core/admin/admin.ts';
import { type ChangeLog, noChange, type Planned, type Read } from '../core/registry/change-log.ts';
import { newUlid } from '../core/runtime/ulid.ts';
import { type Key, keys } from '../core/table/keys.ts';
import type { Table, Write } from '../core/table/table.ts';
import { approvalKeys, belongsToOtherKey, keyOf, type WaitingItem } from './records.ts';
import { blockedAlready, otherKey, requireAtMostOne } from './refusals.ts';
import { findWaiting, isWaiting, planRemoval, type QueueItem, waitingSlots } from './waiting-agents.ts';

const boundMembers = ['thumbprint', 'generation', 'first_seen', 'last_issue', 'revoked_at', 'proof', 'listed_until'];

export const planned = <T>(action: LoggedChange['action'], id: string, result: T, writes: Write[]): Planned<T> => ({
  result: () => result,
  changes: [{ kind: 'agent', id, action }],
  writes: () => writes,
});

/** Changes to agents by admins: each is one transaction, including its log entry. */
export function openAgentChanges(table: Table, log: Pick<ChangeLog, 'change'>) {
  return {
    /**
     * Approves an agent, whether or not it has asked for approval. Without a key, approves the key that has the id, or the only one that waits under it.
     * @returns undefined if there is no such key
     * @throws ApiError CONFLICT if several keys wait and none is named, the id belongs to another key, or the agent or its key is blocked
     */
    approve(by: Admin, { agentId, thumbprint }: FoundAgent): Promise<AgentItem | undefined> {
      let key = thumbprint;
      return log.change<AgentItem | undefined>(by, async (read) => {
        const [agent] = await read<AgentItem>([keys.agent(agentId)]);
        if (agent?.block !== undefined) throw blockedAlready();
        // a retry must not approve a key that has appeared since
        key ??= agent?.thumbprint ?? requireAtMostOne(await findWaiting(table, agentId))?.thumbprint;
        if (key === undefined) return noChange(undefined);
        if (agent?.thumbprint !== undefined) {
          if (agent.thumbprint !== key) throw otherKey();
          if (agent.admitted_by === undefined) return noChange(agent);
        }
        const [onKey] = await read<AgentKeyItem>([keys.agentKey(key)]);
        if (onKey?.blocked_by?.size) throw blockedAlready();
        const { wait, writes } = await planRemoval(read, agentId, key);
        const { listed_until, expires_at } = lifeFrom(Date.now());
        const { agent_id, first_seen } = agent ?? wait ?? { agent_id: agentId };
        const seen = first_seen !== undefined && { first_seen };
        const approved = { agent_id, thumbprint: key, generation: agent?.generation ?? newUlid(), ...seen, listed_until, expires_at };
        const bound = { update: keys.agent(agentId), set: approved, remove: ['admitted_by'], when: isAgentUnchanged(agent) };
        return planned('approve', agent_id, approved, [bound, ...listActive(agent_id, key, listed_until), ...writes]);
      });
    },

    /**
     * Blocks an id, even an unused one, and the key bound to it, if any: the agent can neither get nor use PATs. A key that is only waiting under
     * an id of another key is blocked alone.
     * @param reason - for admins
     */
    block: (by: Admin, { agentId: named, thumbprint }: FoundAgent, reason: string): Promise<AgentItem> =>
      log.change<AgentItem>(by, async (read) => {
        const [first] = await read<AgentItem>([keys.agent(named)]);
        const isAnother = thumbprint !== undefined && belongsToOtherKey(first, thumbprint);
        const id = isAnother ? sharedIdOf(named, thumbprint) : named;
        const [agent] = isAnother ? await read<AgentItem>([keys.agent(id)]) : [first];
        const key = keyOf(agent) ?? thumbprint ?? only(await findWaiting(table, named));
        if (agent?.block !== undefined && agent.block_reason === reason && keyOf(agent) === key) return noChange(agent);

        const { agent_id = id, block = newUlid(), blocked_at = Date.now() } = agent ?? {};
        const blocked_key = agent?.thumbprint === undefined ? key : undefined;
        const blocked = { agent_id, block, blocked_at, block_reason: reason, ...(blocked_key !== undefined && { blocked_key }) };
        const { writes: ended } = key === undefined ? { writes: [] } : await planRemoval(read, named, key);
        const onKey = (thumbprint: string): Write[] => [
          { update: keys.agentKey(thumbprint), add: [['blocked_by', new Set([block])]], remove: ['expires_at'] },
          idOfKey(thumbprint, agent_id),
          ...(isAnother ? [{ delete: keys.idOfKey(thumbprint, named) }] : []),
        ];
        const { expires_at, ...lasting } = agent ?? {};
        return planned('block', agent_id, { ...lasting, ...blocked }, [
          { update: keys.agent(id), set: blocked, remove: ['expires_at'], when: isAgentUnchanged(agent) },
          { put: { ...keys.agentListed('blocked', agent_id), agent_id } },
          { delete: keys.agentListed('active', agent_id) },
          ...(key === undefined ? [] : onKey(key)),
          ...ended,
        ]);
      }),

    /** Lifts the block of an id and its key; other blocks of the key stay. @returns undefined if the id is not blocked */
    unblock(by: Admin, { agentId, thumbprint }: FoundAgent): Promise<true | undefined> {
      let seen: string | undefined;
      return log.change<true | undefined>(by, async (read) => {
        const [agent] = await read<AgentItem>([keys.agent(agentId)]);
        // a retry must not lift a newer block
        seen ??= agent?.block;
        if (agent?.block === undefined || agent.block !== seen || belongsToOtherKey(agent, thumbprint)) return noChange(undefined);
        const [key, nowMs] = [keyOf(agent), Date.now()];
        return planned('unblock', agent.agent_id, true, [
          ...lift(keys.agent(agentId), agent, nowMs),
          { delete: keys.agentListed('blocked', agent.agent_id) },
          ...(key === undefined ? [] : await liftFromKey(read, key, agent.block, nowMs)),
        ]);
      });
    },

    /** Invalidates every PAT that the agent holds. @returns undefined if there is no such agent */
    revoke: (by: Admin, { agentId, thumbprint }: FoundAgent): Promise<AgentItem | undefined> =>
      log.change<AgentItem | undefined>(by, async (read) => {
        const [agent] = await read<AgentItem>([keys.agent(agentId)]);
        if (agent?.generation === undefined || belongsToOtherKey(agent, thumbprint)) return noChange(undefined);
        const revoked = { generation: newUlid(), revoked_at: Date.now() };
        const write = { update: keys.agent(agentId), set: revoked, when: isAgentUnchanged(agent) };
        return planned('revoke', agent.agent_id, { ...agent, ...revoked }, [write]);
      }),

    /**
     * Frees an id for another key, and invalidates every PAT issued to it; blocks stay. If the key only waits under the id, its request is removed.
     * @returns undefined if no key has the id or waits
     * @throws ApiError CONFLICT if no key has the id, several wait, and none is named
     */
    unbind(by: Admin, { agentId, thumbprint }: FoundAgent): Promise<true | undefined> {
      let named = thumbprint;
      return log.change<true | undefined>(by, async (read) => {
        const [agent] = await read<AgentItem>([keys.agent(agentId)]);
        const { agent_id = agentId, thumbprint } = agent ?? {};
        // a retry must not take the id from a key that has been bound since
        named ??= thumbprint;
        if (agent !== undefined && thumbprint !== undefined && named === thumbprint) {
          const [key] = await read<AgentKeyItem>([keys.agentKey(thumbprint)]);
          return planned('unbind', agent_id, true, [...free(agentId, agent, thumbprint), ...(key?.proof ? [forgetProof(thumbprint)] : [])]);
        }
        const key = named ?? requireAtMostOne(await findWaiting(table, agentId))?.thumbprint;
        if (key === undefined) return noChange(undefined);
        const { wait, writes } = await planRemoval(read, agentId, key);
        if (!wait) return noChange(undefined);
        return planned('unbind', wait.agent_id, true, [...writes, { delete: keys.idOfKey(key, wait.agent_id) }]);
      });
    },

    /** Voids all waiting requests; they expire later. */
    clearWaiting: (by: Admin): Promise<void> =>
      log.change<void>(by, async (read) => {
        const [queue] = await read<QueueItem>([approvalKeys.waitingAgents()]);
        const { items, lastKey } = await table.query<WaitingItem>(waitingSlots);
        if (!lastKey && !items.some((wait) => isWaiting(wait, queue, Date.now()))) return noChange(undefined);
        const start = { update: approvalKeys.waitingAgents(), set: { cleared: queue?.asked, displaced: 0 } };
        return planned('clear', 'pending', undefined, [start]);
      }),
  };
}

const only = (waiting: { thumbprint: string }[]): string | undefined => (waiting.length === 1 ? waiting[0]?.thumbprint : undefined);

/** Lifts the block of an id, and deletes its record if no key has the id. */
function lift(key: Key, agent: AgentItem, nowMs: number): Write[] {
  const { agent_id, thumbprint, blocked_key } = agent;
  const when = isAgentUnchanged(agent);
  if (thumbprint === undefined)
    return [{ delete: key, when }, ...(blocked_key === undefined ? [] : [{ delete: keys.idOfKey(blocked_key, agent_id) }])];
  const life = lifeFrom(nowMs);
  return [
    { update: key, set: { ...life, unblocked_at: nowMs }, remove: ['block', 'blocked_at', 'block_reason'], when },
    ...listActive(agent_id, thumbprint, life.listed_until),
  ];
}

async function liftFromKey(read: Read, thumbprint: string, block: string, nowMs: number): Promise<Write[]> {
  const [key] = await read<AgentKeyItem>([keys.agentKey(thumbprint)]);
  const isLast = [...(key?.blocked_by ?? [])].every((one) => one === block);
  const set = { unblocked_at: nowMs, ...(isLast && { expires_at: lifeFrom(nowMs).expires_at }) };
  return [{ update: keys.agentKey(thumbprint), take: { blocked_by: new Set([block]) }, set }];
}

function free(agentId: string, agent: AgentItem, thumbprint: string): Write[] {
  const key = keys.agent(agentId);
  const when = isAgentUnchanged(agent);
  if (agent.block !== undefined) return [{ update: key, set: { blocked_key: thumbprint }, remove: boundMembers, when }];
  return [
    { delete: key, when },
    { delete: keys.agentListed('active', agent.agent_id) },
    { delete: keys.idOfKey(thumbprint, agent.agent_id) },
  ];
}

const forgetProof = (thumbprint: string): Write => ({
  update: keys.agentKey(thumbprint),
  remove: ['proof'],
  when: [['exists', 'proof']],
});
