import type { TrialVerdict } from '../../schemas/executions.ts';
import type { Observe } from '../core/execution/execution.ts';
import type { Call } from '../core/policy/conditions.ts';
import { openPolicy, type PolicyPointer } from '../core/policy/policy.ts';
import { openPolicies } from '../core/registry/policy-in-force.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { describeCause, log } from '../core/runtime/log.ts';
import type { Table } from '../core/table/table.ts';
import { recordVerdict, type TrialPolicy } from './trial.ts';

/** What names the policy on trial, beside the one in force. */
export interface TrialPointer extends PolicyPointer {
  trial?: string;
}

/** The policy on trial for callers at an address, if there is one. */
export type FindTrial = (pointer: TrialPointer | undefined, baseUrl: string) => Promise<TrialPolicy | undefined>;

export function openTrials(table: Pick<Table, 'get'>): FindTrial {
  const open = openPolicies(table, openPolicy);
  return async (pointer, baseUrl) => {
    const found = pointer?.trial === undefined ? undefined : await open(pointer.trial, baseUrl);
    return found && pointer?.trial !== undefined ? { digest: pointer.trial, rules: found.rules } : undefined;
  };
}

/**
 * Logs the verdict of the policy on trial about a call, whatever the policy in force decides. Invalid arguments are refused under both. A failure is
 * logged, and affects nothing else.
 */
export const openTrialObserver =
  (findTrial: FindTrial): Observe =>
  async ({ request, caller, agent, logLine, nowMs }, judged, valuesOf) => {
    try {
      const trial = await findTrial(caller.policy.pointer, request.baseUrl);
      if (trial) logLine.note({ trial: judgeForTrial(trial, () => ({ ...judged, ...agent, parameters: valuesOf(), nowMs })) });
    } catch (error) {
      log.warn('policy not tried', { cause: describeCause(error) });
    }
  };

export const trialObserverFromEnvironment = (table: Table): Observe => openTrialObserver(openTrials(table));

function judgeForTrial(trial: TrialPolicy, callOf: () => Call): TrialVerdict {
  try {
    return recordVerdict(trial, callOf());
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { policy: trial.digest, invalid: true };
  }
}
