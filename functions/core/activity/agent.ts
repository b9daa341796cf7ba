import type { AgentState } from '../../../schemas/agent.ts';
import { ApiError, unavailable } from '../api-error.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { newUlid } from '../ulid.ts';
import { openWaitingAgents, type WaitingItem } from './waiting-agents.ts';

/** What is known under an agent_id: whose it is, and that it is blocked. Those who wait for approval have records of their own. */
export interface AgentItem extends Item {
  agent_id: string;
  /** RFC 7638 thumbprint of the key that presented the id first; none if nobody has */
  thumbprint?: string;
  /** in every PAT; a new one makes all earlier PATs invalid at once, whatever the clocks say. None before a PAT may be issued */
  generation?: string;
  /** milliseconds since the epoch */
  first_seen?: number;
  /** milliseconds since the epoch */
  last_issue?: number;
  /** milliseconds since the epoch */
  revoked_at?: number;
  /** a PAT has been issued with a proof of possession, so that none is issued without */
  proof?: true;
  /** which block holds for it: a later one has another name */
  block?: string;
  /** milliseconds since the epoch */
  blocked_at?: number;
  block_reason?: string;
  /** the key that the block holds for, once the id has been taken from it */
  blocked_key?: string;
  /** the block that was lifted last */
  lifted_block?: string;
  /** until when the list of active agents has it, in seconds since the epoch */
  listed_until?: number;
  /** seconds since the epoch; blocked agents have none */
  expires_at?: number;
}

/** An agent that PATs may be issued to. */
export interface BoundAgent extends AgentItem {
  thumbprint: string;
  generation: string;
}

/** What holds for a key, whatever agent_id it presents. */
export interface AgentKeyItem extends Item {
  /** the blocks of agents that had this key */
  blocked_by?: Set<string>;
  /** a PAT has been issued with a proof of possession, so that none is issued without */
  proof?: true;
  expires_at?: number;
}

/** What was known when a PAT was asked for or used. */
export interface Standing {
  agent: AgentItem | undefined;
  key: AgentKeyItem | undefined;
  /** of an agent that shares its id: what is known under the id itself */
  sharer?: AgentItem | undefined;
  /** whether it waits for approval; known if a PAT was asked for */
  isWaiting?: boolean;
}

export interface Presented {
  agentId: string;
  thumbprint: string;
  nowMs: number;
}

export interface BindRequest extends Presented {
  hasProof: boolean;
  /** the id must have been issued PATs before, or be approved */
  mustBeKnown: boolean;
}

/** An agent is forgotten this long after its last PAT, so that ids which nobody uses do not pile up. */
const agentLifeSeconds = 90 * 24 * 3_600;

/** The list of active agents is written anew only so often: its entries last this much longer than the agents. */
const listedLonger = 2;

const maxAttempts = 3;

/** How an admin names an agent: by its id, its key, or both. */
export interface NamedAgent {
  agentId?: string | undefined;
  thumbprint?: string | undefined;
  /** whether the id and the key may be those of an agent that has not asked for anything yet */
  mayBeNew?: true | undefined;
}

/** An agent that may exist. */
export interface FoundAgent {
  agentId: string;
  thumbprint?: string;
}

const hasKey = (agent: Partial<AgentItem> | undefined, thumbprint: string): boolean =>
  (agent?.thumbprint ?? agent?.blocked_key) === thumbprint;

export const isBlocked = ({ agent, key, sharer }: Standing): boolean =>
  agent?.block !== undefined || sharer?.block !== undefined || (key?.blocked_by?.size ?? 0) > 0;

/** What an agent is called whose agent_id belongs to another key, if ids may be shared: by all that is kept of it, and by its PATs. */
export const sharedIdOf = (agentId: string, thumbprint: string): string => `${agentId}~${thumbprint}`;

/** The agent_id that an agent presents. */
function presentedId(agentId: string, thumbprint: string): string {
  const suffix = sharedIdOf('', thumbprint);
  return agentId.endsWith(suffix) && agentId !== suffix ? agentId.slice(0, -suffix.length) : agentId;
}

/** Whether a PAT has been revoked: its agent is gone, or of another generation. */
export const isRevoked = (agent: AgentItem | undefined, { gen }: { gen: string }): boolean => agent?.generation !== gen;

/** The state of an agent; undefined if nothing is left of it but that a block was lifted. */
export function stateOf(agent: AgentItem | undefined): AgentState | undefined {
  if (agent?.block !== undefined) return 'blocked';
  return agent?.generation !== undefined ? 'active' : undefined;
}

/** What has to be read to know whether a PAT may be used; {@link readStanding} understands the items. */
export const standingKeys = (agentId: string, thumbprint: string): Key[] => [
  keys.agentKey(thumbprint),
  keys.agent(presentedId(agentId, thumbprint)),
  keys.agent(agentId),
];

export const readStanding = ([key, sharer, agent]: (Item | undefined)[]): Standing => ({
  agent: agent as AgentItem | undefined,
  key: key as AgentKeyItem | undefined,
  sharer: sharer as AgentItem | undefined,
});

/** The agents of the table. */
export function openAgents(table: Table) {
  const waiting = openWaitingAgents(table);

  const find = (agentId: string): Promise<AgentItem | undefined> => table.get<AgentItem>(keys.agent(agentId));

  /** An agent is on the list of its state before it has that state, and may stay there afterwards: what a list shows is checked against the record. */
  const enlist = (state: AgentState, agentId: string, expiresAt?: number): Promise<boolean> =>
    table.put({ ...keys.agentListed(state, agentId), agent_id: agentId, expires_at: expiresAt });

  const enlistActive = async (agentId: string, thumbprint: string | undefined, nowMs: number): Promise<number> => {
    const listedUntil = Math.floor(nowMs / 1000) + listedLonger * agentLifeSeconds;
    const byKey = thumbprint === undefined ? [] : [{ ...keys.idOfKey(thumbprint, agentId), agent_id: agentId, expires_at: listedUntil }];
    await Promise.all([enlist('active', agentId, listedUntil), ...byKey.map((item) => table.put(item))]);
    return listedUntil;
  };

  /** The agent_ids that a key has, is blocked under, or waits under. */
  async function idsOf(thumbprint: string, nowMs: number): Promise<string[]> {
    const { items } = await table.query<{ agent_id: string }>(keys.agentKey(thumbprint).pk, {
      range: 'sk < :key',
      ExpressionAttributeValues: { ':key': keys.agentKey(thumbprint).sk },
      Limit: 40,
    });
    const found = await table.getAll<Partial<AgentItem>>(
      items.flatMap(({ agent_id }) => [keys.agent(agent_id), keys.waiting(agent_id, thumbprint)]),
    );
    return items.flatMap(({ agent_id }, at) => {
      const [agent, wait] = found.slice(2 * at, 2 * at + 2);
      const isIts = hasKey(agent, thumbprint) || (wait?.expires_at ?? 0) > nowMs / 1000;
      return isIts ? [agent_id] : [];
    });
  }

  /** No PAT is issued to the key without a proof from now on. */
  async function keepProof(thumbprint: string, known: AgentKeyItem | undefined, nowMs: number): Promise<void> {
    const nowSeconds = Math.floor(nowMs / 1000);
    if (known?.proof && (known.expires_at ?? 0) > nowSeconds + agentLifeSeconds / 2) return;
    await table.update(keys.agentKey(thumbprint), {
      UpdateExpression: 'SET #proof = :true, #expires_at = :expires_at',
      ConditionExpression: 'attribute_not_exists(#blocked_by)',
      ExpressionAttributeNames: { '#proof': 'proof', '#expires_at': 'expires_at', '#blocked_by': 'blocked_by' },
      ExpressionAttributeValues: { ':true': true, ':expires_at': nowSeconds + agentLifeSeconds },
    });
  }

  async function blockKey(thumbprint: string, block: string): Promise<void> {
    await table.update(keys.agentKey(thumbprint), {
      UpdateExpression: 'ADD #blocked_by :block REMOVE #expires_at',
      ExpressionAttributeNames: { '#blocked_by': 'blocked_by', '#expires_at': 'expires_at' },
      ExpressionAttributeValues: { ':block': new Set([block]) },
    });
  }

  /** The other blocks of the key stay. */
  async function unblockKey(thumbprint: string, block: string, nowMs: number): Promise<void> {
    const key = keys.agentKey(thumbprint);
    await table.update(key, {
      UpdateExpression: 'DELETE #blocked_by :block',
      ExpressionAttributeNames: { '#blocked_by': 'blocked_by' },
      ExpressionAttributeValues: { ':block': new Set([block]) },
    });
    await table.update(key, {
      UpdateExpression: 'SET #expires_at = :expires_at',
      ConditionExpression: 'attribute_not_exists(#blocked_by)',
      ExpressionAttributeNames: { '#blocked_by': 'blocked_by', '#expires_at': 'expires_at' },
      ExpressionAttributeValues: { ':expires_at': Math.floor(nowMs / 1000) + agentLifeSeconds },
    });
  }

  /** A block has been lifted altogether. Nothing is left of an agent that had no PAT. */
  async function forgetLifted(agentId: string, block: string): Promise<void> {
    const condition = (more: string) => ({
      ConditionExpression: `#lifted_block = :block AND ${more}`,
      ExpressionAttributeNames: { '#lifted_block': 'lifted_block', '#generation': 'generation' },
      ExpressionAttributeValues: { ':block': block },
    });
    const isKept = await table.update(keys.agent(agentId), {
      UpdateExpression: 'REMOVE #lifted_block',
      ...condition('attribute_exists(#generation)'),
    });
    if (!isKept) await table.delete(keys.agent(agentId), condition('attribute_not_exists(#generation)'));
  }

  /** Deletes an agent as it was seen; false if it is blocked by now, or has another key. */
  const forget = (key: Key, thumbprint: string): Promise<boolean> =>
    table.delete(key, {
      ConditionExpression: 'attribute_not_exists(#block) AND #thumbprint = :thumbprint',
      ExpressionAttributeNames: { '#block': 'block', '#thumbprint': 'thumbprint' },
      ExpressionAttributeValues: { ':thumbprint': thumbprint },
    });

  /** Binds an id to a key before its first PAT. */
  async function letIn(agentId: string, thumbprint: string, nowMs: number, askedMs: number | undefined): Promise<AgentItem> {
    const listedUntil = await enlistActive(agentId, thumbprint, nowMs);
    const approved = await table.update<AgentItem>(keys.agent(agentId), {
      UpdateExpression:
        'SET #agent_id = if_not_exists(#agent_id, :agent_id), #thumbprint = :thumbprint, ' +
        `#generation = if_not_exists(#generation, :generation), #expires_at = :expires_at, #listed_until = :listed_until${askedMs === undefined ? '' : ', #first_seen = :first_seen'}`,
      ConditionExpression: 'attribute_not_exists(#block) AND (attribute_not_exists(#thumbprint) OR #thumbprint = :thumbprint)',
      ExpressionAttributeNames: {
        '#agent_id': 'agent_id',
        '#thumbprint': 'thumbprint',
        '#generation': 'generation',
        '#expires_at': 'expires_at',
        '#listed_until': 'listed_until',
        '#block': 'block',
        ...(askedMs !== undefined && { '#first_seen': 'first_seen' }),
      },
      ExpressionAttributeValues: {
        ':agent_id': agentId,
        ':thumbprint': thumbprint,
        ...(askedMs !== undefined && { ':first_seen': askedMs }),
        ':generation': newUlid(),
        ':expires_at': Math.floor(nowMs / 1000) + agentLifeSeconds,
        ':listed_until': listedUntil,
      },
      ReturnValues: 'ALL_NEW',
    });
    if (!approved) throw agentChanged();
    return approved;
  }

  /** Takes the id of a blocked agent from its key, which stays blocked. */
  const freeBlocked = (key: Key, thumbprint: string) =>
    table.update(key, {
      UpdateExpression: `SET #blocked_key = #thumbprint REMOVE ${boundMembers.map((name) => `#${name}`).join(', ')}`,
      ConditionExpression: 'attribute_exists(#block) AND #thumbprint = :thumbprint',
      ExpressionAttributeNames: Object.fromEntries(['block', 'blocked_key', ...boundMembers].map((name) => [`#${name}`, name])),
      ExpressionAttributeValues: { ':thumbprint': thumbprint },
    });

  return {
    /** The agent, also one that is blocked or waits. */
    find,

    /** The keys that wait for approval under an id. */
    findWaiting: waiting.find,

    /** Forgets everybody who waits for approval; returns how many there were. */
    clearWaiting: waiting.clear,

    /**
     * The agent that is meant by an id, a key, or both. A shared id and a key mean the agent of that key.
     * @returns undefined if no agent has the key
     * @throws ApiError CONFLICT if the key has several ids, or the id belongs to another key
     */
    async resolve({ agentId, thumbprint, mayBeNew }: NamedAgent, nowMs: number): Promise<FoundAgent | undefined> {
      if (thumbprint === undefined) return agentId === undefined ? undefined : { agentId };
      if (agentId === undefined) {
        const ids = await idsOf(thumbprint, nowMs);
        if (ids.length > 1) throw severalIds(ids);
        return ids[0] === undefined ? undefined : { agentId: ids[0], thumbprint };
      }
      const own = sharedIdOf(agentId, thumbprint);
      const [agent, shared, wait, ownWait] = await table.getAll<AgentItem>([
        keys.agent(agentId),
        keys.agent(own),
        keys.waiting(agentId, thumbprint),
        keys.waiting(own, thumbprint),
      ]);
      if (hasKey(agent, thumbprint) || (agent?.thumbprint === undefined && (wait || mayBeNew))) return { agentId, thumbprint };
      if (hasKey(shared, thumbprint) || ownWait) return { agentId: own, thumbprint };
      throw otherKey();
    },

    /** What a PAT request depends on, in one round trip. */
    async standingOf(agentId: string, thumbprint: string, nowMs = Date.now()): Promise<Standing> {
      const [wait, ...known] = await table.getAll<WaitingItem>([keys.waiting(agentId, thumbprint), ...standingKeys(agentId, thumbprint)]);
      return { ...readStanding(known), isWaiting: (wait?.expires_at ?? 0) > nowMs / 1000 };
    },

    /**
     * Binds the id to the key, or records another issue to it.
     * @returns undefined if by now the id belongs to another key, is blocked, needs a proof or an approval
     */
    async bind({ agentId, thumbprint, nowMs, hasProof, mustBeKnown }: BindRequest, seen: Standing): Promise<BoundAgent | undefined> {
      const expiresAt = Math.floor(nowMs / 1000) + agentLifeSeconds;
      const listedUntil = (seen.agent?.listed_until ?? 0) < expiresAt ? await enlistActive(agentId, thumbprint, nowMs) : undefined;
      if (hasProof) await keepProof(thumbprint, seen.key, nowMs);
      const bound = await table.update<AgentItem>(keys.agent(agentId), {
        UpdateExpression: [
          'SET #agent_id = if_not_exists(#agent_id, :agent_id), #thumbprint = :thumbprint',
          '#generation = if_not_exists(#generation, :generation)',
          '#first_seen = if_not_exists(#first_seen, :now), #last_issue = :now, #expires_at = :expires_at',
          ...(hasProof ? ['#proof = :true'] : []),
          ...(listedUntil !== undefined ? ['#listed_until = :listed_until'] : []),
        ].join(', '),
        ConditionExpression: [
          'attribute_not_exists(#block) AND (attribute_not_exists(#thumbprint) OR #thumbprint = :thumbprint)',
          ...(hasProof ? [] : ['attribute_not_exists(#proof)']),
          ...(mustBeKnown ? ['attribute_exists(#generation)'] : []),
        ].join(' AND '),
        ExpressionAttributeNames: {
          '#agent_id': 'agent_id',
          '#thumbprint': 'thumbprint',
          '#generation': 'generation',
          '#first_seen': 'first_seen',
          '#last_issue': 'last_issue',
          '#expires_at': 'expires_at',
          '#proof': 'proof',
          '#block': 'block',
          ...(listedUntil !== undefined && { '#listed_until': 'listed_until' }),
        },
        ExpressionAttributeValues: {
          ':agent_id': agentId,
          ':thumbprint': thumbprint,
          ':generation': newUlid(),
          ':now': nowMs,
          ':expires_at': expiresAt,
          ...(hasProof && { ':true': true }),
          ...(listedUntil !== undefined && { ':listed_until': listedUntil }),
        },
        ReturnValues: 'ALL_NEW',
      });
      return (bound as BoundAgent | false) || undefined;
    },

    /** Records that an agent waits for approval. The id is not bound to its key by that. */
    async ask({ agentId, thumbprint, nowMs }: Presented): Promise<void> {
      await waiting.ask(agentId, thumbprint, nowMs);
    },

    /**
     * Lets an agent have PATs, whether or not it has asked for one.
     * @param thumbprint - its key; it may be left out if one key waits under the id
     * @returns undefined if no key is given and none waits
     * @throws ApiError CONFLICT if several keys wait and none is given, if the id belongs to another key, or if the agent is blocked
     */
    async approve(agentId: string, thumbprint: string | undefined, nowMs: number): Promise<AgentItem | undefined> {
      const [agent, asked] = await Promise.all([find(agentId), waiting.find(agentId, nowMs)]);
      const state = stateOf(agent);
      if (state === 'blocked') throw isBlockedAlready();
      if (thumbprint === undefined && asked.length > 1) throw severalKeys(asked);
      const key = thumbprint ?? asked[0]?.thumbprint ?? agent?.thumbprint;
      if (key === undefined) return undefined;
      if (agent?.thumbprint !== undefined && agent.thumbprint !== key) throw otherKey();
      const approved =
        state === 'active' ? agent : await letIn(agentId, key, nowMs, asked.find((one) => one.thumbprint === key)?.first_seen);
      await waiting.remove(agentId, key);
      return approved;
    },

    /** Makes every PAT that has been issued to the agent invalid; undefined if there is no such agent. */
    async revoke(agentId: string, nowMs: number): Promise<AgentItem | undefined> {
      const revoked = await table.update<AgentItem>(keys.agent(agentId), {
        UpdateExpression: 'SET #generation = :generation, #revoked_at = :now',
        ConditionExpression: 'attribute_exists(#generation)',
        ExpressionAttributeNames: { '#generation': 'generation', '#revoked_at': 'revoked_at' },
        ExpressionAttributeValues: { ':generation': newUlid(), ':now': nowMs },
        ReturnValues: 'ALL_NEW',
      });
      return revoked || undefined;
    },

    /** Frees the id for another key, makes every PAT issued to it invalid, and ends its waiting; false if no key has it or waits. A block stays, for the key too. */
    async unbind(agentId: string, nowMs = Date.now(), named?: string): Promise<boolean> {
      const key = keys.agent(agentId);
      const [first, waits] = await Promise.all([find(agentId), waiting.find(agentId, nowMs)]);
      const asked = waits.filter((one) => named === undefined || one.thumbprint === named);
      await table.deleteAll(asked.map((one) => keys.waiting(agentId, one.thumbprint)));
      const thumbprint = first?.thumbprint;
      if (thumbprint === undefined) return asked.length > 0;
      // what another key has by now was not meant
      for (let agent: AgentItem | undefined = first; agent?.thumbprint === thumbprint; agent = await find(agentId)) {
        const isFreed = agent.block === undefined ? await forget(key, thumbprint) : await freeBlocked(key, thumbprint);
        if (isFreed) break;
      }
      await table.update(keys.agentKey(thumbprint), {
        UpdateExpression: 'REMOVE #proof',
        ConditionExpression: 'attribute_exists(#proof)',
        ExpressionAttributeNames: { '#proof': 'proof' },
      });
      return true;
    },

    /**
     * Blocks the id, whether or not anybody has it, and the key that has it. Nobody who asks for a PAT or uses one after this gets by.
     * @param reason - for admins
     * @param named - the key that is meant, if no key has the id; else the one that waits under it, if it is the only one
     */
    async block(agentId: string, reason: string, nowMs: number, named?: string): Promise<AgentItem> {
      const [seen, asked] = await Promise.all([find(agentId), waiting.find(agentId, nowMs)]);
      const { agent_id = agentId, lifted_block, thumbprint: earlier } = seen ?? {};
      const waits = named ?? (asked.length === 1 ? asked[0]?.thumbprint : undefined);
      const unbound = earlier === undefined ? waits : undefined;
      // lifting it was cut short
      if (lifted_block !== undefined && earlier !== undefined) await unblockKey(earlier, lifted_block, nowMs);
      await enlist('blocked', agent_id);
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        await table.update<AgentItem>(keys.agent(agentId), {
          UpdateExpression:
            'SET #agent_id = if_not_exists(#agent_id, :agent_id), #block = if_not_exists(#block, :block), ' +
            `#blocked_at = if_not_exists(#blocked_at, :now), #block_reason = :reason${unbound === undefined ? '' : ', #blocked_key = if_not_exists(#blocked_key, :key)'} ` +
            'REMOVE #expires_at, #lifted_block',
          ExpressionAttributeNames: {
            '#lifted_block': 'lifted_block',
            '#agent_id': 'agent_id',
            '#block': 'block',
            '#blocked_at': 'blocked_at',
            '#block_reason': 'block_reason',
            '#expires_at': 'expires_at',
            ...(unbound !== undefined && { '#blocked_key': 'blocked_key' }),
          },
          ExpressionAttributeValues: {
            ':agent_id': agentId,
            ':block': newUlid(),
            ':now': nowMs,
            ':reason': reason,
            ...(unbound !== undefined && { ':key': unbound }),
          },
        });
        if (waits !== undefined) await waiting.remove(agentId, waits);
        const blocked = await table.get<AgentItem>(keys.agent(agentId));
        if (blocked?.block === undefined) continue;
        const thumbprint = blocked.thumbprint ?? blocked.blocked_key;
        if (thumbprint === undefined) return blocked;
        await blockKey(thumbprint, blocked.block);
        // if the block was lifted meanwhile, whoever lifted it may not have seen it on the key
        if ((await table.get<AgentItem>(keys.agent(agentId)))?.block === blocked.block) return blocked;
        await unblockKey(thumbprint, blocked.block, nowMs);
      }
      throw changedByOthers();
    },

    /** Lifts the block of the id and of the key that it holds for; false if there is none. */
    async unblock(agentId: string, nowMs: number): Promise<boolean> {
      const agent = await find(agentId);
      const block = agent?.block ?? agent?.lifted_block;
      if (!agent || block === undefined) return false;
      if (agent.generation !== undefined) await enlistActive(agent.agent_id, agent.thumbprint, nowMs);
      if (agent.block !== undefined) {
        const isLifted = await table.update(keys.agent(agentId), {
          UpdateExpression: 'SET #lifted_block = #block, #expires_at = :expires_at REMOVE #block, #blocked_at, #block_reason',
          ConditionExpression: '#block = :block',
          ExpressionAttributeNames: {
            '#lifted_block': 'lifted_block',
            '#expires_at': 'expires_at',
            '#block': 'block',
            '#blocked_at': 'blocked_at',
            '#block_reason': 'block_reason',
          },
          ExpressionAttributeValues: { ':expires_at': Math.floor(nowMs / 1000) + agentLifeSeconds, ':block': block },
        });
        if (!isLifted && (await find(agentId))?.lifted_block !== block) throw changedByOthers();
      }
      const thumbprint = agent.thumbprint ?? agent.blocked_key;
      if (thumbprint !== undefined) await unblockKey(thumbprint, block, nowMs);
      await forgetLifted(agentId, block);
      return true;
    },

    /**
     * A page of the agents of one state in the order of their folded ids; it may hold fewer than `count` although more follow.
     * @param after - what the page follows: an agent_id, or for those who wait a place in their queue
     * @returns the agents, and what the next page follows if there may be more
     */
    async list(
      state: AgentState,
      after: string | undefined,
      count: number,
      nowMs: number,
    ): Promise<{ agents: (AgentItem | WaitingItem)[]; next?: string }> {
      if (state === 'pending') return waiting.list(after, count, nowMs);
      const { items, lastKey } = await table.query<{ agent_id: string }>(keys.agentListed(state, '').pk, {
        ...(after !== undefined && { range: 'sk > :after', ExpressionAttributeValues: { ':after': keys.agentListed(state, after).sk } }),
        Limit: count,
      });
      const found = items.length > 0 ? await table.getAll<AgentItem>(items.map(({ agent_id }) => keys.agent(agent_id))) : [];
      const agents = found.filter((agent) => agent !== undefined && stateOf(agent) === state) as AgentItem[];
      const next = lastKey && items.at(-1)?.agent_id;
      return { agents, ...(next !== undefined && { next }) };
    },
  };
}

export type Agents = ReturnType<typeof openAgents>;

/** What an id loses when it is taken from its key. */
const boundMembers = ['thumbprint', 'generation', 'first_seen', 'last_issue', 'revoked_at', 'proof', 'listed_until'];

export const agentIdTaken = () =>
  new ApiError('POLICY_REJECTED', 'The agent_id belongs to another key. Sign with that key, or choose another agent_id.', {
    details: { reason: 'agent_id_bound' },
  });

const blockedMessage =
  'The operators of this gate have blocked this agent, under every agent_id and PAT of its key. Only they can lift the block: stop, and ask them.';

/** 403 at issue. */
export const agentBlockedAtIssue = () => new ApiError('POLICY_REJECTED', blockedMessage, { details: { reason: 'agent_blocked' } });

/** 403 at execution. */
export const agentBlocked = () => new ApiError('FORBIDDEN', blockedMessage, { details: { reason: 'agent_blocked' } });

const agentChanged = () =>
  new ApiError('CONFLICT', 'The agent has changed meanwhile. Read it with GET /api/agents/{agent_id}, and decide again.', {
    details: { reason: 'agent_changed' },
  });

const changedByOthers = () => unavailable('Several admins block or unblock this agent at once. Try again after Retry-After.');

const isBlockedAlready = () =>
  new ApiError('CONFLICT', 'The agent is blocked. Lift the block first: DELETE /api/agents/{agent_id}/block.', {
    details: { reason: 'agent_blocked' },
  });

const otherKey = () =>
  new ApiError('CONFLICT', 'The agent_id belongs to another key. Leave out key_thumbprint, or name the agent_id of that key.', {
    details: { reason: 'other_key' },
  });

const severalIds = (ids: string[]) =>
  new ApiError('CONFLICT', 'This key has several agent_ids, see details.agent_ids. Name one of them in the query parameter agent_id.', {
    details: { reason: 'several_ids', agent_ids: ids },
  });

export const severalKeys = (asked: WaitingItem[]) =>
  new ApiError(
    'CONFLICT',
    'Several keys wait for approval under this agent_id, see details.key_thumbprints. Name one of them in the query parameter key_thumbprint.',
    { details: { reason: 'several_keys', key_thumbprints: asked.map(({ thumbprint }) => thumbprint) } },
  );

export const noSuchAgent = () =>
  new ApiError('NOT_FOUND', 'No PAT has been issued to an agent of this agent_id. Check the agent_id, percent-encoded as UTF-8.');

export const noSuchBlock = () =>
  new ApiError('NOT_FOUND', 'No agent of this agent_id is blocked. Check the agent_id, percent-encoded as UTF-8.');

export const noSuchRequest = () =>
  new ApiError(
    'NOT_FOUND',
    'No agent of this agent_id waits for approval. Name its key in the query parameter key_thumbprint to approve it before it asks.',
  );
