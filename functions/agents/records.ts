import type { AgentState } from '../../schemas/agents/agents.ts';
import type { AgentItem } from '../core/activity/agent.ts';
import { readerOf } from '../core/runtime/environment.ts';
import { type Key, keys } from '../core/table/keys.ts';
import type { Item } from '../core/table/table.ts';

/** A request for approval. Several keys may wait under one id, which stays unbound. */
export interface WaitingItem extends Item {
  agent_id: string;
  thumbprint: string;
  first_seen: number;
  domain?: string;
  /** number of earlier requests */
  number: number;
  expires_at: number;
}

declare module '../core/activity/agent.ts' {
  interface AgentItem {
    /** approved domain that admitted the agent without its own approval: it gets PATs only while it is verified for this or an approved domain */
    admitted_by?: string;
  }
}

const listOf = (name: string): string => keys.agentListed(name, '').pk;

/** The records of approval, beside those of agents and in lists of agents. */
export const approvalKeys = {
  waiting: (agentId: string, thumbprint: string): Key => ({ pk: keys.agent(agentId).pk, sk: `WAITS#${thumbprint}` }),
  /** a domain whose agents need no approval */
  approvedDomain: (domain: string): Key => ({ pk: listOf('domains'), sk: domain }),
  /** a slot in the queue of agents that wait for approval */
  waitingSlot: (slot: number): Key => ({ pk: listOf('pending'), sk: String(slot).padStart(4, '0') }),
  /** the number of requests for approval, which determines the next slot */
  waitingAgents: (): Key => ({ pk: listOf(''), sk: 'WAITING' }),
};

export const keyOf = (agent: AgentItem | undefined): string | undefined => agent?.thumbprint ?? agent?.blocked_key;

export const belongsToOtherKey = (agent: AgentItem | undefined, thumbprint: string | undefined): boolean =>
  thumbprint !== undefined && (keyOf(agent) ?? thumbprint) !== thumbprint;

export function stateOf(agent: AgentItem | undefined): AgentState | undefined {
  if (agent?.block !== undefined) return 'blocked';
  return agent?.generation !== undefined ? 'active' : undefined;
}

/** The environment variables of agents' administration. */
export const agentVariables = {
  /** `approved`: an admin approves each agent before its first PAT */
  agents: 'AGENTS',
} as const;

export const readAgentEnvironment = readerOf(agentVariables);
