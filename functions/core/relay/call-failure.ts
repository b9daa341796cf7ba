import type { ErrorCode } from '../../../schemas/errors.ts';
import { ApiError } from '../api-error.ts';
import type { LostContent } from './content-coding.ts';
import { DialError, type DialFailure } from './dial.ts';

export type CallFailure = DialFailure | 'no_credential' | 'no_key' | 'resting' | 'crowded' | 'lost' | 'late' | LostContent;

interface FailureRule {
  code: ErrorCode;
  message: string;
  /** whether the upstream may have acted on the call */
  outcome: 'not_sent' | 'unknown';
}

const failures: Record<CallFailure, FailureRule> = {
  no_address: {
    code: 'SERVICE_UNAVAILABLE',
    message: "The host of the intent's endpoint cannot be resolved at the moment. Nothing was sent; try again after Retry-After.",
    outcome: 'not_sent',
  },
  unreachable: {
    code: 'SERVICE_UNAVAILABLE',
    message: "The intent's endpoint cannot be reached at the moment. Nothing was sent; try again after Retry-After.",
    outcome: 'not_sent',
  },
  no_credential: {
    code: 'SERVICE_UNAVAILABLE',
    message: "The credential of the intent's service cannot be read at the moment. Nothing was sent; try again after Retry-After.",
    outcome: 'not_sent',
  },
  no_key: {
    code: 'SERVICE_UNAVAILABLE',
    message: 'The key that signs calls cannot be read at the moment. Nothing was sent; try again after Retry-After.',
    outcome: 'not_sent',
  },
  resting: {
    code: 'SERVICE_UNAVAILABLE',
    message:
      "The intent's endpoint has failed repeatedly, so the gate has paused calls to it. Nothing was sent; try again after Retry-After.",
    outcome: 'not_sent',
  },
  crowded: {
    code: 'SERVICE_UNAVAILABLE',
    message: "Too many calls are waiting for the host of the intent's endpoint. Nothing was sent; try again after Retry-After.",
    outcome: 'not_sent',
  },
  lost: {
    code: 'SERVICE_UNAVAILABLE',
    message: "The connection to the intent's endpoint was lost before the call was sent. Nothing was sent; try again after Retry-After.",
    outcome: 'not_sent',
  },
  late: {
    code: 'SERVICE_UNAVAILABLE',
    message: 'The call ran out of time before it could be sent. Nothing was sent; try again after Retry-After.',
    outcome: 'not_sent',
  },
  refused_address: {
    code: 'INTENT_EXECUTION_FAILED',
    message: "The intent's endpoint has an address that this gate does not call. Nothing was sent; tell the admins of this gate.",
    outcome: 'not_sent',
  },
  tls_failed: {
    code: 'INTENT_EXECUTION_FAILED',
    message:
      "The intent's endpoint has no valid certificate for its name, or does not support TLS 1.2. Nothing was sent; tell its operators.",
    outcome: 'not_sent',
  },
  broken_answer: {
    code: 'INTENT_EXECUTION_FAILED',
    message:
      "The intent's endpoint closed the connection, or did not answer in HTTP. It may have acted on the call; check this before you send it again.",
    outcome: 'unknown',
  },
  encoded_answer: {
    code: 'INTENT_EXECUTION_FAILED',
    message:
      "The intent's endpoint answered in an unsupported content coding. It may have acted on the call; check this before you send it again.",
    outcome: 'unknown',
  },
  answer_too_large: {
    code: 'INTENT_EXECUTION_FAILED',
    message:
      "The intent's endpoint answered with more than 1048576 bytes, or more than 16384 bytes of headers. It may have acted on the call; check this before you send it again.",
    outcome: 'unknown',
  },
  deadline: {
    code: 'GATEWAY_TIMEOUT',
    message: "The intent's endpoint did not answer in time. It may have acted on the call; check this before you send it again.",
    outcome: 'unknown',
  },
};

/** Decisions of the gate, which do not count against the upstream. */
const gateReasons: readonly CallFailure[] = ['no_credential', 'no_key', 'resting', 'crowded', 'late', 'refused_address'];

/** Faults of the gate, which alarms count. An open circuit is the upstream's fault. */
const gateFaults: readonly CallFailure[] = ['no_credential', 'no_key', 'late'];

/** A call without an answer, as the agent sees it. It has `Retry-After` if trying again can help. */
export class CallFailed extends ApiError {
  readonly reason: CallFailure;
  /** also in `details.outcome` */
  readonly outcome: FailureRule['outcome'];
  /** the upstream failed, rather than the gate refused to call it */
  readonly isOfUpstream: boolean;

  constructor(reason: CallFailure, cause?: unknown, retryAfterSeconds = 5) {
    const { code, message, outcome } = failures[reason];
    const headers: Record<string, string> = code === 'SERVICE_UNAVAILABLE' ? { 'Retry-After': String(retryAfterSeconds) } : {};
    super(code, message, {
      details: { reason, outcome },
      headers,
      cause,
      fault: gateFaults.includes(reason) ? 'gate' : 'upstream',
    });
    this.reason = reason;
    this.outcome = outcome;
    this.isOfUpstream = !gateReasons.includes(reason);
  }
}

/**
 * What an error of a call means; a DOMException says that its time was up. Any other error is a fault of the gate, and is returned as it is.
 * @param timeUp - what it means that the time was up
 */
export function describeCallError(error: unknown, timeUp: CallFailure): unknown {
  if (error instanceof DialError) return new CallFailed(error.failure, error);
  return error instanceof DOMException ? new CallFailed(timeUp, error) : error;
}
