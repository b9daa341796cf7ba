import type { AgentState } from '../../../schemas/agent.ts';
import type { Condition } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Write } from '../table/table.ts';

/**
 * The record of an agent_id: its key and its block. Agents that wait for approval have records of their own. Times are in milliseconds since the
 * epoch, except `listed_until` and `expires_at`, which are in seconds.
 */
export interface AgentItem extends Item {
  agent_id: string;
  /** RFC 7638 thumbprint of the key that the id is bound to, if any */
  thumbprint?: string;
  /** copied into every PAT: a new one invalidates all earlier PATs, whatever the clocks say. Present while a key has the id */
  generation?: string;
  first_seen?: number;
  last_issue?: number;
  revoked_at?: number;
  /** a PAT has been issued with a proof of possession, so every later one needs a proof too */
  proof?: true;
  /** identifies the block: a later one has another name */
  block?: string;
  blocked_at?: number;
  block_reason?: string;
  /** the key that is blocked, if the id is not bound to it */
  blocked_key?: string;
  /** when the agent's entry in the list of active agents expires */
  listed_until?: number;
  /** absent while the agent is blocked */
  expires_at?: number;
}

/** An agent that PATs may be issued to. */
export interface BoundAgent extends AgentItem {
  thumbprint: string;
  generation: string;
}

/** The record of a key, under every agent_id. */
export interface AgentKeyItem extends Item {
  /** the blocks of agents with this key: it may be blocked under several ids */
  blocked_by?: Set<string>;
  /** as {@link AgentItem.proof} */
  proof?: true;
  expires_at?: number;
}

/** A request for approval of an agent_id and a key. Several keys may wait under one id, which is bound to none of them. */
export interface WaitingItem extends Item {
  agent_id: string;
  thumbprint: string;
  first_seen: number;
  /** how many requests came before it */
  number: number;
  expires_at: number;
}

/** The records that decide whether an agent may get or use a PAT. */
export interface AgentRecords {
  agent: AgentItem | undefined;
  key: AgentKeyItem | undefined;
  /** of an agent that shares its id: the record of the id itself */
  sharer?: AgentItem | undefined;
  /** whether its request for approval still counts; read only at issue */
  isWaiting?: boolean;
  wait?: WaitingItem | undefined;
}

/** An id and a key, as an agent presents them. */
export interface Presented {
  agentId: string;
  thumbprint: string;
  nowMs: number;
}

/** An agent that may exist: its id, and its key if a request named one. */
export interface FoundAgent {
  agentId: string;
  thumbprint?: string | undefined;
}

/** An agent is forgotten this long after its last PAT, so that unused ids do not pile up. */
export const agentLifeSeconds = 90 * 24 * 3_600;

/** The key that an agent_id is bound to, or blocked with. */
export const keyOf = (agent: AgentItem | undefined): string | undefined => agent?.thumbprint ?? agent?.blocked_key;

/** Whether a named key is not the agent's. */
export const isOfAnother = (agent: AgentItem | undefined, thumbprint: string | undefined): boolean =>
  thumbprint !== undefined && (keyOf(agent) ?? thumbprint) !== thumbprint;

export const isBlocked = ({ agent, key, sharer }: AgentRecords): boolean =>
  agent?.block !== undefined || sharer?.block !== undefined || (key?.blocked_by?.size ?? 0) > 0;

/** The id of an agent in records and PATs if it shares the agent_id of another key. */
export const sharedIdOf = (agentId: string, thumbprint: string): string => `${agentId}~${thumbprint}`;

/** The agent_id that an agent presents. */
function presentedId(agentId: string, thumbprint: string): string {
  const suffix = sharedIdOf('', thumbprint);
  return agentId.endsWith(suffix) && agentId !== suffix ? agentId.slice(0, -suffix.length) : agentId;
}

/** Whether a PAT has been revoked: its agent is gone or has another generation. */
export const isRevoked = (agent: AgentItem | undefined, { gen }: { gen: string }): boolean => agent?.generation !== gen;

export function stateOf(agent: AgentItem | undefined): AgentState | undefined {
  if (agent?.block !== undefined) return 'blocked';
  return agent?.generation !== undefined ? 'active' : undefined;
}

/** The keys of the items that {@link toAgentRecords} takes. */
export const agentRecordKeys = (agentId: string, thumbprint: string): Key[] => [
  keys.agentKey(thumbprint),
  keys.agent(presentedId(agentId, thumbprint)),
  keys.agent(agentId),
];

export const toAgentRecords = ([key, sharer, agent]: (Item | undefined)[]): AgentRecords => ({
  agent: agent as AgentItem | undefined,
  key: key as AgentKeyItem | undefined,
  sharer: sharer as AgentItem | undefined,
});

/**
 * The condition that an agent has not changed since it was read, as far as changes of agents depend on it: a key that gets the id comes with a new
 * generation, and of a blocked agent only the block and the key matter.
 */
export const asSeen = (agent: AgentItem | undefined): Condition[] =>
  ['block', ...(agent?.block ? ['blocked_key'] : ['generation', ...(agent?.generation ? ['proof'] : [])])].map((name) =>
    agent?.[name] === undefined ? ['absent', name] : ['=', name, agent[name]],
  );

/** When an agent and its entries in lists expire. Entries last longer, so that few PATs need new ones. */
export function lifeFrom(nowMs: number): { expires_at: number; listed_until: number } {
  const nowSeconds = Math.floor(nowMs / 1000);
  return { expires_at: nowSeconds + agentLifeSeconds, listed_until: nowSeconds + 2 * agentLifeSeconds };
}

/** Lists an agent_id among those of its key. */
export const idOfKey = (thumbprint: string, agent_id: string, expires_at?: number): Write => ({
  put: { ...keys.idOfKey(thumbprint, agent_id), agent_id, expires_at },
});

/** Lists an agent among the active ones, and among those of its key. */
export const listActive = (agent_id: string, thumbprint: string, until: number): Write[] => [
  { put: { ...keys.agentListed('active', agent_id), agent_id, expires_at: until } },
  idOfKey(thumbprint, agent_id, until),
];
