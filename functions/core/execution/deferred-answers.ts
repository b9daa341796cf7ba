import type { ExecutionState } from '../../../schemas/deferred.ts';
import { type ApiResponse, describeError } from '../http/response.ts';
import { ApiError } from '../runtime/api-error.ts';
import type { Outcome, UsedKey } from './idempotent-call-store.ts';

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
export const outcomeNotStored = (): ApiError =>
  new ApiError('CONFLICT', 'The call was made, and its answer was too large to keep. A new Idempotency-Key would make another call.', {
    details: { reason: 'not_stored', outcome: 'executed' },
  });

/** 403 for a call that was denied or expired. */
export const notApproved = (reason: 'denied' | 'expired', message: string): ApiError =>
  new ApiError('FORBIDDEN', message, { details: { reason, outcome: 'not_sent' } });

export interface StateContext {
  executionId: string;
  baseUrl: string;
  /** id of the original request, so that a receipt for a refusal matches the body shown here */
  requestId: string;
  protocol: string;
}

const unknown =
  'The gate was interrupted while it made the call: its outcome is unknown, and it will not be made again. Find out whether it took effect before you ask again under a new Idempotency-Key.';

/** The state of a deferred call, for its holder. The outcome equals the answer of an immediate execution. */
export function describeExecution(used: UsedKey, context: StateContext): ExecutionState {
  const { executionId, baseUrl } = context;
  const execution = executionUrl(baseUrl, executionId);
  switch (used.state) {
    case 'waiting':
    case 'working':
      return describePending(used, baseUrl) as ExecutionState;
    case 'replay':
      return { status: 'done', execution, outcome: describeOutcome(used.outcome, context) };
    case 'not_stored':
      return { status: 'done', execution, outcome: describeOutcome(outcomeNotStored(), context) };
    case 'denied':
      return { status: 'denied', execution, reason: used.reason };
    case 'expired':
      return { status: 'expired', execution, reason: used.reason };
    default:
      return { status: 'unknown', execution, reason: unknown };
  }
}

function describeOutcome(outcome: Outcome, context: StateContext): (ExecutionState & { status: 'done' })['outcome'] {
  const { status, body } = outcome instanceof ApiError ? describeError(outcome, context) : outcome;
  return { status, body: body as Record<string, unknown> };
}
