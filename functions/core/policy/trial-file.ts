import { existsSync, readFileSync } from 'node:fs';
import { describeCause, log } from '../log.ts';
import { type PolicyTemplate, parsePolicyTemplate } from './template.ts';

/** Reads the file of the setting `tryPolicyFile` beside the bundle. If it is invalid, the problem is logged and there is no trial. */
export function loadTrialTemplate(file = new URL('try-policy.json', import.meta.url)): PolicyTemplate | undefined {
  return runTrialStep(() => (existsSync(file) ? parsePolicyTemplate(readFileSync(file, 'utf8')) : undefined));
}

/** Runs part of a trial. A failure is logged, and must not affect anything else. */
export function runTrialStep<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    log.warn('policy not tried', { cause: describeCause(error) });
    return undefined;
  }
}
