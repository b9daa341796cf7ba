import type { Execution } from '../core/execution/execution.ts';
import { judgedAgent } from '../core/pat/holder.ts';
import type { JudgedIntent } from '../core/policy/conditions.ts';
import { runTrialStep } from '../core/policy/policy.ts';
import { recordVerdict } from '../core/policy/trial.ts';
import { ApiError } from '../core/runtime/api-error.ts';

/**
 * Logs the verdict of the policy on trial about a call, whatever the policy in force decides. Invalid arguments are refused under both.
 * @param valuesOf - validates the arguments
 */
export function noteTrialVerdict(
  { caller, logLine, nowMs }: Execution,
  judged: JudgedIntent,
  valuesOf: () => Record<string, unknown>,
): void {
  const { trial } = caller.policy;
  if (!trial) return;
  runTrialStep(() => {
    try {
      logLine.note({ trial: recordVerdict(trial, { ...judged, ...judgedAgent(caller.claims), parameters: valuesOf(), nowMs }) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      logLine.note({ trial: { policy: trial.digest, invalid: true } });
    }
  });
}
