import type { Issue } from '../schemas/errors.ts';

export const exitCodes = {
  ok: 0,
  failure: 1,
  differences: 2,
  usage: 3,
  credentials: 4,
  unreachable: 5,
  interrupted: 130,
} as const;

export type ExitReason = keyof typeof exitCodes;

/** Ends a command with a message for the user. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly reason: ExitReason;
  readonly issues: readonly Issue[];

  constructor(reason: ExitReason, message: string, { issues = [], cause }: { issues?: readonly Issue[]; cause?: unknown } = {}) {
    super(message, { cause });
    this.reason = reason;
    this.issues = issues;
  }
}

/** There is no token for the gate; a session that has ended is another failure. */
export class NotSignedIn extends CliFailure {
  constructor(message: string) {
    super('credentials', message);
  }
}

export const usageFailure = (message: string, issues: readonly Issue[] = []) => new CliFailure('usage', message, { issues });
