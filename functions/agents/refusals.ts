import { ApiError } from '../core/runtime/api-error.ts';
import type { WaitingItem } from './records.ts';

const conflict = (message: string, details: { reason: string; [name: string]: unknown }) => new ApiError('CONFLICT', message, { details });

export const blockedAlready = () =>
  conflict('The agent is blocked. Lift the block first: DELETE /api/agents/{agent_id}/block.', { reason: 'agent_blocked' });

export const otherKey = () =>
  conflict('The agent_id belongs to another key. Leave out key_thumbprint, or name the agent_id of that key.', { reason: 'other_key' });

export const severalIds = (agent_ids: string[]) =>
  conflict('This key has several agent_ids; see details.agent_ids. Name one of them in the path.', {
    reason: 'several_ids',
    agent_ids,
  });

const severalKeys = (asked: WaitingItem[]) =>
  conflict(
    'Several keys wait for approval under this agent_id; see details.key_thumbprints. Name one of them in the query parameter key_thumbprint.',
    { reason: 'several_keys', key_thumbprints: asked.map(({ thumbprint }) => thumbprint) },
  );

/** @throws ApiError CONFLICT if several keys wait */
export function requireAtMostOne(asked: WaitingItem[]): WaitingItem | undefined {
  if (asked.length > 1) throw severalKeys(asked);
  return asked[0];
}

export const noSuchAgent = () =>
  new ApiError('NOT_FOUND', 'No agent with this agent_id is known. Check the agent_id, percent-encoded as UTF-8.');

export const noSuchBlock = () =>
  new ApiError('NOT_FOUND', 'No agent with this agent_id is blocked. Check the agent_id, percent-encoded as UTF-8.');

export const noSuchRequest = () =>
  new ApiError(
    'NOT_FOUND',
    'No agent with this agent_id is waiting for approval. To approve one in advance, name its key in the query parameter key_thumbprint.',
  );
