import type { ErrorCode } from '../../../schemas/errors.ts';
import { ApiError, type Fault } from '../runtime/api-error.ts';
import type { UnusableBody } from './content-coding.ts';
import { DialError, type DialFailure } from './dial.ts';

export type CallFailure = DialFailure | 'no_credential' | 'no_key' | 'resting' | 'crowded' | 'lost' | 'late' | 'no_session' | UnusableBody;

interface FailureRule {
  message: string;
  code: ErrorCode;
  /** whether the upstream may have acted on the call */
  outcome: 'not_sent' | 'unknown';
  /** whether the upstream is the cause, rather than a decision or a fault of the gate */
  isOfUpstream: boolean;
  /** who is at fault; alarms count faults of the gate, and an open circuit is the upstream's fault */
  fault: Fault;
  /** whether the host is known to answer; undefined if unknown */
  hasAnswered?: boolean;
}

const notSent = { outcome: 'not_sent', isOfUpstream: true, fault: 'upstream' } as const;
const notReached = { ...notSent, hasAnswered: false } as const;
const decidedByGate = { ...notSent, isOfUpstream: false } as const;
const faultOfGate = { ...decidedByGate, fault: 'gate' } as const;
const notAnswered = { ...notReached, outcome: 'unknown' } as const;
const answered = { ...notAnswered, hasAnswered: true } as const;

const mayHaveActed = 'It may have acted on the call; check this before you send it again.';

const temporary = (problem: string) =>
  ({ code: 'SERVICE_UNAVAILABLE', message: `${problem}. Nothing was sent; try again after Retry-After.` }) as const;
const permanent = (problem: string) => ({ code: 'INTENT_EXECUTION_FAILED', message: problem }) as const;

const failures: Record<CallFailure, FailureRule> = {
  no_address: { ...notReached, ...temporary("The host of the intent's endpoint cannot be resolved at the moment") },
  unreachable: { ...notReached, ...temporary("The intent's endpoint cannot be reached at the moment") },
  no_credential: { ...faultOfGate, ...temporary("The credential of the intent's service cannot be read at the moment") },
  no_key: { ...faultOfGate, ...temporary('The key that signs calls cannot be read at the moment') },
  resting: { ...decidedByGate, ...temporary("The intent's endpoint has failed repeatedly, so the gate has paused calls to it") },
  crowded: { ...decidedByGate, ...temporary("Too many calls are waiting for the host of the intent's endpoint") },
  lost: { ...notSent, ...temporary("The connection to the intent's endpoint was lost before the call was sent") },
  late: { ...faultOfGate, ...temporary('The call ran out of time before it could be sent') },
  no_session: {
    ...notSent,
    ...permanent("The intent's endpoint does not accept this gate as an MCP client. Nothing was sent; tell the service's operators."),
  },
  refused_address: {
    ...decidedByGate,
    ...permanent("The intent's endpoint has an address that this gate does not call. Nothing was sent; tell the admins of this gate."),
  },
  tls_failed: {
    ...notReached,
    ...permanent(
      "The intent's endpoint has no valid certificate for its name, or does not support TLS 1.2. Nothing was sent; tell its operators.",
    ),
  },
  broken_answer: { ...answered, ...permanent(`The intent's endpoint closed the connection, or did not answer in HTTP. ${mayHaveActed}`) },
  answer_too_large: {
    ...answered,
    ...permanent(`The intent's endpoint answered with more than 1048576 bytes, or more than 16384 bytes of headers. ${mayHaveActed}`),
  },
  deadline: {
    ...notAnswered,
    code: 'GATEWAY_TIMEOUT',
    message: `The intent's endpoint did not answer in time. ${mayHaveActed}`,
  },
};

/** The refusal of a call that got no usable answer. Has `Retry-After` if a retry can help. */
export class CallFailed extends ApiError {
  readonly reason: CallFailure;
  /** also in `details.outcome` */
  readonly outcome: FailureRule['outcome'];
  readonly isOfUpstream: boolean;
  readonly hasAnswered: boolean | undefined;

  constructor(reason: CallFailure, cause?: unknown, retryAfterSeconds = 5) {
    const { code, message, outcome, isOfUpstream, hasAnswered, fault } = failures[reason];
    const headers: Record<string, string> = code === 'SERVICE_UNAVAILABLE' ? { 'Retry-After': String(retryAfterSeconds) } : {};
    super(code, message, { details: { reason, outcome }, headers, cause, fault });
    this.reason = reason;
    this.outcome = outcome;
    this.isOfUpstream = isOfUpstream;
    this.hasAnswered = hasAnswered;
  }
}

/**
 * Maps an error of a call to CallFailed. A DOMException means a timeout. Any other error is a fault of the gate, and is returned unchanged.
 * @param timeUp - the failure that a timeout means at this stage
 */
export function describeCallError(error: unknown, timeUp: CallFailure): unknown {
  if (error instanceof DialError) return new CallFailed(error.failure, error);
  return error instanceof DOMException ? new CallFailed(timeUp, error) : error;
}
