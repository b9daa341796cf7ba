import { ApiError } from '../api-error.ts';
import { judgedAgent } from '../pat/holder.ts';
import type { JudgedIntent } from '../policy/conditions.ts';
import { recordVerdict } from '../policy/trial.ts';
import { withoutHarm } from '../policy/trial-file.ts';
import type { Execution } from './execution.ts';

/**
 * Records what the policy on trial says of a call, whatever the one in force does. Arguments that are not valid are refused under either.
 * @param valuesOf - validates the arguments
 */
export function tryOther({ caller, logLine, nowMs }: Execution, judged: JudgedIntent, valuesOf: () => Record<string, unknown>): void {
  const { trial } = caller.policy;
  if (!trial) return;
  withoutHarm(() => {
    try {
      logLine.note({ trial: recordVerdict(trial, { ...judged, ...judgedAgent(caller.claims), parameters: valuesOf(), nowMs }) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      logLine.note({ trial: { policy: trial.digest, invalid: true } });
    }
  });
}
