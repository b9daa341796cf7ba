import type { ExecutionState } from '../../../schemas/deferred.ts';
import { ApiError } from '../api-error.ts';
import { describeError } from '../http/response.ts';
import type { UsedKey } from './idempotent-call-store.ts';
import type { Outcome } from './outcome.ts';
import { describePending, executionUrl, unkept } from './pending.ts';

export interface StateContext {
  executionId: string;
  baseUrl: string;
  /** id of the original request, so that a receipt for a refusal matches the body shown here */
  requestId: string;
  protocol: string;
}

const unknown =
  'The gate was interrupted while it made the call: the outcome is unknown, and it is never made again. Find out whether it took effect before you ask again under a new Idempotency-Key.';

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
    case 'unkept':
      return { status: 'done', execution, outcome: describeOutcome(unkept(), context) };
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
