import type { Observe } from '../core/execution/execution.ts';
import { runTrialStep } from '../core/policy/policy.ts';
import { recordVerdict } from '../core/policy/trial.ts';
import { ApiError } from '../core/runtime/api-error.ts';

/**
 * Logs the verdict of the policy on trial about a call, whatever the policy in force decides. Invalid arguments are refused under both.
 */
export const noteTrialVerdict: Observe = ({ caller, agent, logLine, nowMs }, judged, valuesOf) => {
  const { trial } = caller.policy;
  if (!trial) return;
  runTrialStep(() => {
    try {
      logLine.note({ trial: recordVerdict(trial, { ...judged, ...agent, parameters: valuesOf(), nowMs }) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      logLine.note({ trial: { policy: trial.digest, invalid: true } });
    }
  });
};
