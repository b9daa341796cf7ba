import { existsSync, readFileSync } from 'node:fs';
import type { Billing } from '../../schemas/pat.ts';
import type { Observe } from '../core/execution/execution.ts';
import { billingFromEnvironment, perAddress } from '../core/policy/policy.ts';
import { type PolicyTemplate, parsePolicyTemplate } from '../core/policy/template.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { describeCause, log } from '../core/runtime/log.ts';
import { readTrial, recordVerdict, type TrialPolicy } from './trial.ts';

/** The policy on trial for callers at an address; undefined if there is none, or it cannot be put into effect. */
export type FindTrial = (baseUrl: string) => TrialPolicy | undefined;

export function openTrials(template: PolicyTemplate | undefined, billing?: Billing): FindTrial {
  const find = perAddress((baseUrl) => ({ trial: template && runTrialStep(() => readTrial(template, baseUrl, billing)) }));
  return (baseUrl) => find(baseUrl).trial;
}

/** Reads the file of the setting `tryPolicyFile` beside the bundle. If it is invalid, the problem is logged and there is no trial. */
export function trialsFromEnvironment(): FindTrial {
  const file = new URL('try-policy.json', import.meta.url);
  const template = runTrialStep(() => (existsSync(file) ? parsePolicyTemplate(readFileSync(file, 'utf8')) : undefined));
  return openTrials(template, billingFromEnvironment());
}

/**
 * Logs the verdict of the policy on trial about a call, whatever the policy in force decides. Invalid arguments are refused under both.
 */
export const openTrialObserver =
  (findTrial: FindTrial): Observe =>
  ({ request, agent, logLine, nowMs }, judged, valuesOf) => {
    const trial = findTrial(request.baseUrl);
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

export const trialObserverFromEnvironment = (): Observe => openTrialObserver(trialsFromEnvironment());

/** Runs part of a trial. A failure is logged, and must not affect anything else. */
function runTrialStep<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    log.warn('policy not tried', { cause: describeCause(error) });
    return undefined;
  }
}
