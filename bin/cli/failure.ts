import type { Issue } from '../../schemas/errors.ts';

/** What the command ends with. */
export const exitCodes = {
  ok: 0,
  /** the gate refused, or part of the work failed */
  failure: 1,
  /** the registry is not as the file or document says */
  drift: 2,
  /** the command line, or a file that it names, is wrong */
  usage: 3,
  /** not signed in, or not as an admin */
  credentials: 4,
  /** nothing answers at the address */
  unreachable: 5,
  /** stopped by Ctrl-C */
  interrupted: 130,
} as const;

export type ExitReason = keyof typeof exitCodes;

/** What ends a command, in words for the person who gave it. */
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

export const usageFailure = (message: string, issues: readonly Issue[] = []) => new CliFailure('usage', message, { issues });
