import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import type { UsedKey } from './idempotent-call-store.ts';

export const executionUrl = (baseUrl: string, executionId: string): string => `${baseUrl}/api/executions/${executionId}`;

/** Recommended polling interval, in seconds. */
const pollSeconds = 2;

export const describePending = (used: UsedKey & { state: 'waiting' | 'working' }, baseUrl: string) => ({
  status: used.state,
  execution: executionUrl(baseUrl, used.executionId),
  ...(used.state === 'waiting' && { expires_at: new Date(used.untilMs).toISOString() }),
});

/** 202 (RFC 9110 section 15.3.3): the call is waiting for approval or in progress. */
export function pending(used: UsedKey & { state: 'waiting' | 'working' }, baseUrl: string): ApiResponse {
  const body = describePending(used, baseUrl);
  return { status: 202, body, headers: { Location: body.execution, 'Retry-After': String(pollSeconds), 'Execution-Id': used.executionId } };
}

/** 409 for a call that was made but whose answer was too large to store. */
export const unkept = (): ApiError =>
  new ApiError('CONFLICT', 'The call was made, and its answer was too large to keep. A new Idempotency-Key would make another call.', {
    details: { reason: 'unkept', outcome: 'executed' },
  });

/** 403 for a call that was denied or expired. */
export const notApproved = (reason: 'denied' | 'expired', message: string): ApiError =>
  new ApiError('FORBIDDEN', message, { details: { reason, outcome: 'not_sent' } });
