import type { Policy } from './types.ts';

/** What every error of this client has in common. Misuse of the client itself is a TypeError. */
export class IntentGateError extends Error {
  override readonly name: string = 'IntentGateError';
  /** the service's own code (specification section 7.2), or one of this client: POLICY_DECLINED, UNREACHABLE, UNEXPECTED_ANSWER */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface RefusalParts {
  status: number;
  code: string;
  message: string;
  details: Record<string, unknown>;
  requestId: string | undefined;
  /** from `Retry-After`, in milliseconds */
  retryAfterMs: number | undefined;
}

/** The service answered, and said no. */
export class Refusal extends IntentGateError {
  override readonly name: string = 'Refusal';
  readonly status: number;
  /** `issues` names every place that is wrong; other members depend on the code */
  readonly details: Record<string, unknown>;
  /** what to quote to the operators */
  readonly requestId: string | undefined;
  /** when to ask again, in milliseconds from now */
  readonly retryAfterMs: number | undefined;

  constructor({ status, code, message, details, requestId, retryAfterMs }: RefusalParts) {
    super(code, message);
    this.status = status;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The quota is used up for longer than this client was told to wait. */
export class RateLimited extends IntentGateError {
  override readonly name = 'RateLimited';
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number, cause?: Refusal) {
    super('TOO_MANY_REQUESTS', `The rate limit is used up. Ask again in ${Math.ceil(retryAfterMs / 1000)} seconds.`, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** `onPolicy` did not allow the policy to be signed. */
export class PolicyDeclined extends IntentGateError {
  override readonly name = 'PolicyDeclined';
  readonly policy: Policy;
  readonly inWords: string[];

  constructor(policy: Policy, inWords: string[]) {
    super('POLICY_DECLINED', 'The usage policy was not accepted, so nothing can be executed.');
    this.policy = policy;
    this.inWords = inWords;
  }
}

/** Nothing answered. Where this was an execution, it is unknown whether it took effect; with the same idempotency key it may be sent again. */
export class Unreachable extends IntentGateError {
  override readonly name = 'Unreachable';
  readonly attempts: number;

  constructor(attempts: number, cause: unknown) {
    super('UNREACHABLE', `The service cannot be reached; ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} failed.`, { cause });
    this.attempts = attempts;
  }
}

/** Something answered that does not speak as this service does: a proxy, a captive portal, another address. */
export class UnexpectedAnswer extends IntentGateError {
  override readonly name = 'UnexpectedAnswer';
  readonly status: number;

  constructor(status: number, options?: ErrorOptions) {
    super('UNEXPECTED_ANSWER', `The answer (status ${status}) is not one of this service. Check the address.`, options);
    this.status = status;
  }
}
