import type { Condition } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Write } from '../table/table.ts';

/**
 * The record of an agent_id: its key and its block. Features may add members. Times are in milliseconds since the
 * epoch, except `listed_until` and `expires_at`, which are in seconds.
 */
export interface AgentItem extends Item {
  agent_id: string;
  /** RFC 7638 thumbprint of the key that the id is bound to, if any */
  thumbprint?: string;
  /** copied into every PAT, so a new one invalidates all earlier PATs; absent if no key has the id */
  generation?: string;
  first_seen?: number;
  last_issue?: number;
  revoked_at?: number;
  /** a PAT has been issued with a proof of possession, so every later one needs a proof too */
  proof?: true;
  /** domain that the agent was verified for when it got its last PAT */
  domain?: string;
  /** unique to this block */
  block?: string;
  blocked_at?: number;
  block_reason?: string;
  /** when the last block was lifted: calls that were waiting then are void */
  unblocked_at?: number;
  blocked_key?: string;
  /** when the agent's entry in the list of active agents expires */
  listed_until?: number;
  /** absent while the agent is blocked */
  expires_at?: number;
}

/** An agent that may get PATs. */
export interface BoundAgent extends AgentItem {
  thumbprint: string;
  generation: string;
}

/** The record of a key, whatever its agent_ids. */
export interface AgentKeyItem extends Item {
  /** the blocks of agents with this key: it may be blocked under several ids */
  blocked_by?: Set<string>;
  unblocked_at?: number;
  proof?: true;
  expires_at?: number;
}

/** The records that decide whether an agent may get or use a PAT. */
export interface AgentRecords {
  agent: AgentItem | undefined;
  key: AgentKeyItem | undefined;
  /** if the agent shares the agent_id of another key: the record of that agent_id */
  idOwner?: AgentItem | undefined;
}

/** An id and a key, as an agent presents them. */
export interface Presented {
  agentId: string;
  thumbprint: string;
  nowMs: number;
  /** domain that it is verified for */
  domain?: string | undefined;
}

export interface FoundAgent {
  agentId: string;
  thumbprint?: string | undefined;
}

/** How long an agent is remembered after its last PAT. */
export const agentLifeSeconds = 90 * 24 * 3_600;

/** Whether the agent or its key has been unblocked at or after `sinceMs`, in milliseconds since the epoch. */
export const isUnblockedSince = ({ agent, key, idOwner }: AgentRecords, sinceMs: number): boolean =>
  [agent, key, idOwner].some((record) => (record?.unblocked_at ?? 0) >= sinceMs);

export const isBlocked = ({ agent, key, idOwner }: AgentRecords): boolean =>
  agent?.block !== undefined || idOwner?.block !== undefined || (key?.blocked_by?.size ?? 0) > 0;

/** The id, in records and PATs, of an agent that shares its agent_id. */
export const sharedIdOf = (agentId: string, thumbprint: string): string => `${agentId}~${thumbprint}`;

/** The agent_id that the agent presents, which may be a shared one. */
export function presentedId(agentId: string, thumbprint: string): string {
  const suffix = sharedIdOf('', thumbprint);
  return agentId.endsWith(suffix) && agentId !== suffix ? agentId.slice(0, -suffix.length) : agentId;
}

/** Whether a PAT has been revoked: its agent is gone or has another generation. */
export const isRevoked = (agent: AgentItem | undefined, { gen }: { gen: string }): boolean => agent?.generation !== gen;

export const agentRecordKeys = (agentId: string, principal: string): Key[] => [
  keys.agentKey(principal),
  keys.agent(presentedId(agentId, principal)),
  keys.agent(agentId),
];

export const toAgentRecords = ([key, idOwner, agent]: (Item | undefined)[]): AgentRecords => ({
  agent: agent as AgentItem | undefined,
  key: key as AgentKeyItem | undefined,
  idOwner: idOwner as AgentItem | undefined,
});

/**
 * The condition that an agent is unchanged since it was read, in the members that decide about changes: a newly bound key always has a new
 * generation; if the agent is blocked, only the block and the key matter.
 */
export const isAgentUnchanged = (agent: AgentItem | undefined): Condition[] =>
  ['block', ...(agent?.block ? ['blocked_key'] : ['generation', ...(agent?.generation ? ['proof'] : [])])].map((name) =>
    agent?.[name] === undefined ? ['absent', name] : ['=', name, agent[name]],
  );

/** When an agent and its list entries expire. Entries live longer, so that they are rarely rewritten. */
export function lifeFrom(nowMs: number): { expires_at: number; listed_until: number } {
  const nowSeconds = Math.floor(nowMs / 1000);
  return { expires_at: nowSeconds + agentLifeSeconds, listed_until: nowSeconds + 2 * agentLifeSeconds };
}

export const idOfKey = (thumbprint: string, agent_id: string, expires_at?: number): Write => ({
  put: { ...keys.idOfKey(thumbprint, agent_id), agent_id, expires_at },
});

export const listActive = (agent_id: string, thumbprint: string, until: number): Write[] => [
  { put: { ...keys.agentListed('active', agent_id), agent_id, expires_at: until } },
  idOfKey(thumbprint, agent_id, until),
];
