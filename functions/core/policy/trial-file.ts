import { existsSync, readFileSync } from 'node:fs';
import { describeCause, log } from '../log.ts';
import { type PolicyTemplate, parsePolicyTemplate } from './template.ts';

/** The file of the setting `tryPolicyFile` beside the bundle. What is wrong with it is logged, and there is no trial. */
export function loadTrialTemplate(file = new URL('try-policy.json', import.meta.url)): PolicyTemplate | undefined {
  return withoutHarm(() => (existsSync(file) ? parsePolicyTemplate(readFileSync(file, 'utf8')) : undefined));
}

/** Nothing that fails in a trial may have an effect on anything else. */
export function withoutHarm<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    log.warn('policy not tried', { cause: describeCause(error) });
    return undefined;
  }
}
