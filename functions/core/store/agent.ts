import { agentId } from '../../../schemas/agent.ts';
import { ApiError } from '../api-error.ts';
import { newUlid } from '../ulid.ts';
import { keys } from './keys.ts';
import type { Item, Table } from './table.ts';

/** An agent: the key that its id belongs to. */
export interface AgentItem extends Item {
  agent_id: string;
  /** RFC 7638 thumbprint of the key that presented the id first */
  thumbprint: string;
  /** in every PAT; a new one makes all earlier PATs invalid at once, whatever the clocks say */
  generation: string;
  /** milliseconds since the epoch */
  first_seen: number;
  /** milliseconds since the epoch */
  last_issue: number;
  /** milliseconds since the epoch */
  revoked_at?: number;
}

/** An agent is forgotten this long after its last PAT, so that ids which nobody uses do not pile up. */
const agentLifeSeconds = 90 * 24 * 3600;

/** The agents of the table. Each method is one operation. */
export interface Agents {
  find(agentId: string): Promise<AgentItem | undefined>;
  /** Binds the id to the key, or records another issue to it; undefined if the id belongs to another key. */
  bind(agentId: string, thumbprint: string, nowMs: number): Promise<AgentItem | undefined>;
  /** Makes every PAT that has been issued to the agent invalid; undefined if there is no such agent. */
  revoke(agentId: string, nowMs: number): Promise<AgentItem | undefined>;
  /** Frees the id for another key, and makes every PAT issued to it invalid; false if there is no such agent. */
  unbind(agentId: string): Promise<boolean>;
}

export const openAgents = (table: Table): Agents => ({
  find: (agentId) => table.get<AgentItem>(keys.agent(agentId)),
  bind: async (agentId, thumbprint, nowMs) =>
    (await table.update<AgentItem>(keys.agent(agentId), {
      UpdateExpression:
        'SET #agent_id = :agent_id, #thumbprint = :thumbprint, #generation = if_not_exists(#generation, :generation), ' +
        '#first_seen = if_not_exists(#first_seen, :now), #last_issue = :now, #expires_at = :expires_at',
      ConditionExpression: 'attribute_not_exists(#thumbprint) OR #thumbprint = :thumbprint',
      ExpressionAttributeNames: {
        '#agent_id': 'agent_id',
        '#thumbprint': 'thumbprint',
        '#generation': 'generation',
        '#first_seen': 'first_seen',
        '#last_issue': 'last_issue',
        '#expires_at': 'expires_at',
      },
      ExpressionAttributeValues: {
        ':agent_id': agentId,
        ':thumbprint': thumbprint,
        ':generation': newUlid(),
        ':now': nowMs,
        ':expires_at': Math.floor(nowMs / 1000) + agentLifeSeconds,
      },
      ReturnValues: 'ALL_NEW',
    })) || undefined,
  revoke: async (agentId, nowMs) =>
    (await table.update<AgentItem>(keys.agent(agentId), {
      UpdateExpression: 'SET #generation = :generation, #revoked_at = :now',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#generation': 'generation', '#revoked_at': 'revoked_at' },
      ExpressionAttributeValues: { ':generation': newUlid(), ':now': nowMs },
      ReturnValues: 'ALL_NEW',
    })) || undefined,
  unbind: (agentId) => table.delete(keys.agent(agentId), { ConditionExpression: 'attribute_exists(pk)' }),
});

/** Whether a PAT has been revoked: its agent is gone, or of another generation. */
export const isRevoked = (agent: AgentItem | undefined, { gen }: { gen: string }): boolean => agent?.generation !== gen;

export const agentIdTaken = () =>
  new ApiError('POLICY_REJECTED', 'The agent_id belongs to another key. Sign with that key, or choose another agent_id.', {
    details: { reason: 'agent_id_bound' },
  });

export const noSuchAgent = () =>
  new ApiError('NOT_FOUND', 'No PAT has been issued to an agent of this agent_id. Check the agent_id, percent-encoded as UTF-8.');

/**
 * The agent_id in a path, in normal form.
 * @throws ApiError NOT_FOUND if no agent can have it
 */
export function requireAgentId(text: string): string {
  const result = agentId.safeParse(text);
  if (!result.success) throw noSuchAgent();
  return result.data;
}
