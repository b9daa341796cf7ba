import { canonicalDigest } from '../../schemas/canonical.ts';
import { publishPolicy } from '../core/policy/compile.ts';
import { readPublished } from '../core/policy/published.ts';
import type { PolicyTemplate } from '../core/policy/template.ts';
import { writePublished } from '../core/policy/write-published.ts';
import type { TrialPolicy } from './trial.ts';

/**
 * A policy that may be tried before it is published.
 * @throws PolicyError listing every place that cannot be put into effect
 */
export function readTrial(template: PolicyTemplate, baseUrl: string): TrialPolicy {
  const published = publishPolicy(template, baseUrl);
  return { digest: canonicalDigest(published.policy), rules: readPublished(writePublished(published), baseUrl).rules };
}
