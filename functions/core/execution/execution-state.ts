import type { ExecutionState } from '../../../schemas/deferred.ts';
import { ApiError } from '../api-error.ts';
import { describeError } from '../http/response.ts';
import type { HeldCall } from './idempotent-call.ts';
import type { Outcome } from './outcome.ts';
import { describePending, executionUrl, notDecided } from './pending.ts';

export interface StateContext {
  executionId: string;
  baseUrl: string;
  requestId: string;
  protocol: string;
}

const unknown =
  'The gate was interrupted while it made the call: the outcome is unknown, and it is never made again. Find out whether it took effect before you ask again under a new Idempotency-Key.';

const unkept = 'The call was made, and its answer was too large to keep.';

/** The state of a deferred call, for its holder. Its outcome is what executing would have returned. */
export function describeExecution(held: HeldCall, context: StateContext): ExecutionState {
  const { executionId, baseUrl } = context;
  const execution = executionUrl(baseUrl, executionId);
  switch (held.state) {
    case 'waiting':
    case 'working':
      return describePending(held, baseUrl) as ExecutionState;
    case 'replay':
      return { status: 'done', execution, outcome: describeOutcome(held.outcome, context) };
    case 'unkept':
      return {
        status: 'done',
        execution,
        outcome: describeOutcome(new ApiError('CONFLICT', unkept, { details: { reason: 'unkept', outcome: 'executed' } }), context),
      };
    case 'denied':
      return { status: 'denied', execution, reason: held.reason };
    case 'expired':
      return { status: 'expired', execution, reason: notDecided };
    default:
      return { status: 'unknown', execution, reason: unknown };
  }
}

function describeOutcome(outcome: Outcome, context: StateContext): (ExecutionState & { status: 'done' })['outcome'] {
  const { status, body } = outcome instanceof ApiError ? describeError(outcome, context) : outcome;
  return { status, body: body as Record<string, unknown> };
}

export const describeVoid = (
  { message }: ApiError,
  { executionId, baseUrl }: Pick<StateContext, 'executionId' | 'baseUrl'>,
): ExecutionState => ({
  status: 'expired',
  execution: executionUrl(baseUrl, executionId),
  reason: message,
});
