import { replaceHidden } from './printable.ts';
import type { PendingExecution, Policy } from './types.ts';

/** Error codes of a gate (specification section 7.2). A gate newer than this client may have others. */
export const gateErrorCodes = [
  'INVALID_PARAMETER',
  'INVALID_SIGNATURE',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'POLICY_REJECTED',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'CONFLICT',
  'UNSUPPORTED_MEDIA_TYPE',
  'TOO_MANY_REQUESTS',
  'INTERNAL_SERVER_ERROR',
  'NOT_IMPLEMENTED',
  'SERVICE_UNAVAILABLE',
  'GATEWAY_TIMEOUT',
  'INTENT_EXECUTION_FAILED',
  'INTENT_NOT_SUPPORTED',
  'VERSION_CONFLICT',
  'INTENT_DEPRECATED',
] as const;

export type GateErrorCode = (typeof gateErrorCodes)[number];

export type ClientErrorCode =
  | 'DEFERRED'
  | 'POLICY_DECLINED'
  | 'FOREIGN_POLICY'
  | 'UNREACHABLE'
  | 'UNEXPECTED_ANSWER'
  | 'UNSAFE_FILE'
  | 'DAMAGED_FILE'
  | 'UNUSABLE_FILE';

export type ErrorCode = GateErrorCode | ClientErrorCode;

/** Base class of this client's errors. Misuse of the client is a TypeError. */
export class IntentGateError extends Error {
  override readonly name: string = 'IntentGateError';
  readonly code: ErrorCode;
  /** of an execution that may have been sent: the key under which it can be repeated without making a second call */
  declare idempotencyKey?: string;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type RefusalParts = Pick<Refusal, 'status' | 'code' | 'message' | 'details' | 'requestId' | 'retryAfterMs'> &
  Partial<Pick<Refusal, 'mayBeDone'>>;

const maxReasonBytes = 1_024;

/** The response of the service behind an intent, on one line without hidden characters; undefined if the gate does not include it. */
export function describeUpstream({ upstream_body: said }: Record<string, unknown>): string | undefined {
  if (said === undefined) return undefined;
  const line = replaceHidden((typeof said === 'string' ? said : JSON.stringify(said)).replace(/\s+/g, ' '), () => '').trim();
  const bytes = new TextEncoder().encode(line);
  if (bytes.length <= maxReasonBytes) return line || undefined;
  // drops a character that was cut in half
  return `${new TextDecoder().decode(bytes.subarray(0, maxReasonBytes - 3)).replace(/\ufffd+$/, '')}…`;
}

/** The message, the reason that the service gave, and the uids that resemble an unknown one, each on a line. */
function describe(message: string, details: Record<string, unknown>): string {
  const reason = describeUpstream(details);
  const nearest = Array.isArray(details.nearest) ? replaceHidden(details.nearest.join(', '), () => '') : '';
  return [message, reason && `The service said: ${reason}`, nearest && `Did you mean ${nearest}?`].filter(Boolean).join('\n');
}

/** An error response of the gate. Further lines of the message say why the service refused, or which uids resemble an unknown one. */
export class Refusal extends IntentGateError {
  override readonly name: string = 'Refusal';
  declare readonly code: GateErrorCode;
  readonly status: number;
  /** its members depend on the code. Numbers that JavaScript would write otherwise than the service did are `JSON.rawJSON` */
  readonly details: Record<string, unknown>;
  /** id of the request, for the gate's operators */
  readonly requestId: string | undefined;
  /** when to retry, in milliseconds from now */
  readonly retryAfterMs: number | undefined;
  /** whether an earlier attempt may have made the change or call */
  readonly mayBeDone: boolean;

  constructor({ status, code, message, details, requestId, retryAfterMs, mayBeDone = false }: RefusalParts) {
    super(code, describe(message, details));
    this.status = status;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
    this.mayBeDone = mayBeDone;
  }

  /** what is wrong with the request, by JSON pointer */
  get issues(): { path: string; problem: string }[] {
    return Array.isArray(this.details.issues) ? this.details.issues : [];
  }

  /** changes of the policy since it was signed, in plain sentences */
  get changes(): string[] | undefined {
    return Array.isArray(this.details.changes) ? this.details.changes : undefined;
  }
}

/** The time after a wait in milliseconds, in words: a date if it is long. */
export const describeWait = (ms: number): string =>
  ms < 600_000 ? `in ${Math.ceil(ms / 1000)} seconds` : `after ${new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '')}`;

/** What a refusal says is used up, without its advice, which names header fields. */
export function describeUsedUp({ message, details }: Pick<Refusal, 'message' | 'details'>): string {
  const { budget, limit } = details as {
    budget?: { amount: string; unit: string; period: number };
    limit?: { rate: number; period: number };
  };
  const [first = ''] = message.split(/[.\n]/);
  if (budget) return `${first} (${budget.amount} ${budget.unit} in ${describePeriod(budget.period)})`;
  return limit?.period === undefined ? first : `${first} (${limit.rate} calls in ${describePeriod(limit.period)})`;
}

const describePeriod = (seconds: number): string => (seconds < 172_800 ? `${seconds} seconds` : `${Math.round(seconds / 86_400)} days`);

/** The quota is used up, and waiting for more would exceed `maxWaitMs`. */
export class RateLimited extends IntentGateError {
  override readonly name = 'RateLimited';
  readonly retryAfterMs: number;

  /** @param usedUp - says which limit, without a full stop */
  constructor(retryAfterMs: number, usedUp: string, cause?: Error) {
    super('TOO_MANY_REQUESTS', `${usedUp}. Try again ${describeWait(retryAfterMs)}.`, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** The call was deferred, and `execute` was called without `wait`. It can be repeated with the same idempotency key without making a second call. */
export class Deferred extends IntentGateError {
  override readonly name = 'Deferred';
  /** pass its `execution` to `readExecution` */
  readonly state: PendingExecution;
  override readonly idempotencyKey: string;

  constructor(state: PendingExecution, idempotencyKey: string) {
    const happens = state.status === 'waiting' ? `waits for a person's approval until ${state.expires_at}` : 'is being made';
    super('DEFERRED', `The call ${happens}. Read its state at ${state.execution}, or execute it again with the same idempotencyKey.`);
    this.state = state;
    this.idempotencyKey = idempotencyKey;
  }
}

/** `onPolicy` did not allow the policy to be signed. */
export class PolicyDeclined extends IntentGateError {
  override readonly name = 'PolicyDeclined';
  readonly policy: Policy;
  readonly inWords: string[];
  /** the differences from the previously accepted policy, if known */
  readonly changes: string[] | undefined;

  constructor(policy: Policy, inWords: string[], changes?: string[]) {
    super('POLICY_DECLINED', 'The usage policy was not accepted, so nothing was signed and no intent can be executed.');
    this.policy = policy;
    this.inWords = inWords;
    this.changes = changes;
  }
}

/** What to do if a request may have had its effect. */
const mayBeDone = {
  call: 'The call may have been made. Execute the intent again with the same idempotency key, which makes no second call.',
  'call without a key': 'The call may have been made. Repeating it would make another.',
  change: 'The change may have been made. Look at the record before you repeat it.',
};

/** What a request that was sent may have caused. */
export type Effect = keyof typeof mayBeDone;

/** Nothing answered. If `effect` is set, the request may have had it; an execution can be repeated safely under its `idempotencyKey`. */
export class Unreachable extends IntentGateError {
  override readonly name = 'Unreachable';
  /** undefined if nothing was sent, or the request has no effect */
  readonly effect: Effect | undefined;

  /** @param proxy - in words, if the gate is reached through one */
  constructor(url: string, cause: unknown, proxy?: string, effect?: Effect) {
    const [through, also] = proxy === undefined ? ['', ''] : [` through ${proxy}`, ' the proxy,'];
    const advice = effect ? mayBeDone[effect] : `Check the address,${also} and whether the gate is running.`;
    super('UNREACHABLE', `Nothing answers at ${url}${through}. ${advice}`, { cause });
    this.effect = effect;
  }
}

/** The response is not from a gate, but for example from a proxy or captive portal. */
export class UnexpectedAnswer extends IntentGateError {
  override readonly name = 'UnexpectedAnswer';
  readonly status: number;
  /** undefined if the request has caused nothing */
  readonly effect: Effect | undefined;

  constructor({ request, status }: { request: string; status: number }, effect?: Effect) {
    const advice = effect ? ` ${mayBeDone[effect]}` : '';
    super(
      'UNEXPECTED_ANSWER',
      `${request} was answered ${status}, but not in the specified format. Is there an Intent Gate at this address, and of the same version?${advice}`,
    );
    this.status = status;
    this.effect = effect;
  }
}
