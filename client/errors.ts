import type { Policy } from './types.ts';

/** What every error of this client has in common. Misuse of the client itself is a TypeError. */
export class IntentGateError extends Error {
  override readonly name: string = 'IntentGateError';
  /** the gate's code (specification section 7.2), or one of this client's own: POLICY_DECLINED, FOREIGN_POLICY, UNREACHABLE, UNEXPECTED_ANSWER, UNSAFE_FILE, DAMAGED_FILE */
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

/** A place in the request, and what is wrong there. */
export interface RefusedPlace {
  /** JSON pointer */
  path: string;
  problem: string;
}

/** The gate answered, and said no. */
export class Refusal extends IntentGateError {
  override readonly name: string = 'Refusal';
  readonly status: number;
  /** members depend on the code */
  readonly details: Record<string, unknown>;
  /** to give to the operators */
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

  /** every place that is wrong */
  get issues(): RefusedPlace[] {
    return Array.isArray(this.details.issues) ? this.details.issues : [];
  }

  /** what has changed in the policy that was signed, in plain sentences */
  get changes(): string[] | undefined {
    return Array.isArray(this.details.changes) ? this.details.changes : undefined;
  }
}

/** The quota is used up, and this client may not wait until there is some again. */
export class RateLimited extends IntentGateError {
  override readonly name = 'RateLimited';
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number, cause?: Error) {
    super('TOO_MANY_REQUESTS', `The rate limit is used up. Ask again in ${Math.ceil(retryAfterMs / 1000)} seconds.`, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** `onPolicy` did not allow the policy to be signed. */
export class PolicyDeclined extends IntentGateError {
  override readonly name = 'PolicyDeclined';
  readonly policy: Policy;
  readonly inWords: string[];
  /** the differences from the policy that was accepted before, as far as the gate has named them */
  readonly changes: string[] | undefined;

  constructor(policy: Policy, inWords: string[], changes?: string[]) {
    super('POLICY_DECLINED', 'The usage policy was not accepted, so nothing was signed and no intent can be executed.');
    this.policy = policy;
    this.inWords = inWords;
    this.changes = changes;
  }
}

/** Nothing answered. If the request was an execution, it is unknown whether it took effect; it may be sent again with the same idempotency key. */
export class Unreachable extends IntentGateError {
  override readonly name = 'Unreachable';

  constructor(url: string, cause: unknown) {
    super('UNREACHABLE', `Nothing answers at ${url}. Check the address, and whether the gate runs.`, { cause });
  }
}

/** The answer does not come from a gate: a proxy, a captive portal, another address. */
export class UnexpectedAnswer extends IntentGateError {
  override readonly name = 'UnexpectedAnswer';
  readonly status: number;

  constructor({ request, status }: { request: string; status: number }) {
    super(
      'UNEXPECTED_ANSWER',
      `${request} was answered ${status}, but not in the form of the specification. Is an Intent Gate at this address?`,
    );
    this.status = status;
  }
}
