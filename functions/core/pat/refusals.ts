import { ApiError } from '../runtime/api-error.ts';

export type Refuse = (message: string) => ApiError;

export const invalidSignature: Refuse = (message) => new ApiError('INVALID_SIGNATURE', message);

/** @param code - POLICY_REJECTED at PAT issue, FORBIDDEN at an execution */
export const agentBlocked = (code: 'POLICY_REJECTED' | 'FORBIDDEN') =>
  new ApiError(
    code,
    'The operators of this gate have blocked this agent. Using another agent_id or PAT will not help. Stop, and contact them.',
    { details: { reason: 'agent_blocked' } },
  );
