import type { AgentState } from '../../../schemas/agent.ts';
import type { LoggedChange } from '../../../schemas/changes.ts';
import type { Planned } from '../registry/change-log.ts';
import type { Condition } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Write } from '../table/table.ts';

/** What is known under an agent_id: whose it is, and that it is blocked. Those who wait for approval have records of their own. */
export interface AgentItem extends Item {
  agent_id: string;
  /** RFC 7638 thumbprint of the key that has the id; none if no key has it */
  thumbprint?: string;
  /** in every PAT; a new one makes all earlier PATs invalid at once, whatever the clocks say. There as long as a key has the id */
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
  /** the key that the block holds for, if it has not got the id */
  blocked_key?: string;
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
  /** the blocks of agents that have this key: it may be blocked under several ids */
  blocked_by?: Set<string>;
  /** a PAT has been issued with a proof of possession, so that none is issued without */
  proof?: true;
  expires_at?: number;
}

/** An agent_id and a key that wait for approval. Several keys may wait under one id: waiting binds nothing. */
export interface WaitingItem extends Item {
  agent_id: string;
  /** RFC 7638 thumbprint of the key */
  thumbprint: string;
  /** milliseconds since the epoch */
  first_seen: number;
  /** how many had asked before it */
  number: number;
  /** seconds since the epoch */
  expires_at: number;
}

/** What was known when a PAT was asked for or used. */
export interface Standing {
  agent: AgentItem | undefined;
  key: AgentKeyItem | undefined;
  /** of an agent that shares its id: what is known under the id itself */
  sharer?: AgentItem | undefined;
  /** whether it waits for approval; known if a PAT was asked for */
  isWaiting?: boolean;
  /** its request for approval, also one that does not count any more */
  wait?: WaitingItem | undefined;
}

/** An agent as it presents itself. */
export interface Presented {
  agentId: string;
  thumbprint: string;
  nowMs: number;
}

/** An agent that may exist: an id, and the key that is meant if one was named. */
export interface FoundAgent {
  agentId: string;
  thumbprint?: string | undefined;
}

/** An agent is forgotten this long after its last PAT, so that ids which nobody uses do not pile up. */
export const agentLifeSeconds = 90 * 24 * 3_600;

/** The key that an agent_id is bound to, or that its block holds for. */
export const keyOf = (agent: AgentItem | undefined): string | undefined => agent?.thumbprint ?? agent?.blocked_key;

/** Whether a key was named that is not the agent's. */
export const isOfAnother = (agent: AgentItem | undefined, thumbprint: string | undefined): boolean =>
  thumbprint !== undefined && (keyOf(agent) ?? thumbprint) !== thumbprint;

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

/** The state of an agent; undefined if there is none. */
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

/**
 * Holds if nothing has changed since on which what is done with an agent depends. Each time that a key gets an id there is a new generation;
 * of a blocked agent, nothing changes but the block and the key.
 */
export const asSeen = (agent: AgentItem | undefined): Condition[] =>
  ['block', ...(agent?.block ? ['blocked_key'] : ['generation', ...(agent?.generation ? ['proof'] : [])])].map((name) =>
    agent?.[name] === undefined ? ['absent', name] : ['=', name, agent[name]],
  );

/** How long what is kept of an agent lasts, in seconds since the epoch. Its entries in lists last longer, so that few PATs need new ones. */
export function lifeFrom(nowMs: number): { expires_at: number; listed_until: number } {
  const nowSeconds = Math.floor(nowMs / 1000);
  return { expires_at: nowSeconds + agentLifeSeconds, listed_until: nowSeconds + 2 * agentLifeSeconds };
}

/** An agent_id among those of a key. */
export const idOfKey = (thumbprint: string, agent_id: string, expires_at?: number): Write => ({
  put: { ...keys.idOfKey(thumbprint, agent_id), agent_id, expires_at },
});

/** The entries of an active agent: in the list of its state, and among the ids of its key. */
export const listActive = (agent_id: string, thumbprint: string, until: number): Write[] => [
  { put: { ...keys.agentListed('active', agent_id), agent_id, expires_at: until } },
  idOfKey(thumbprint, agent_id, until),
];

/** A change of an agent by an admin, as one transaction. */
export const changeOf = <T>(action: LoggedChange['action'], id: string, result: T, writes: Write[]): Planned<T> => ({
  result: () => result,
  changes: [{ kind: 'agent', id, action }],
  writes: () => writes,
});

/** Nothing has to be changed. */
export const noChange = <T>(result: T): Planned<T> => ({ result: () => result, changes: [], writes: () => [] });
