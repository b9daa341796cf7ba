import type { Billing } from '../../../schemas/pat.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { type CompiledPolicy, compileRules } from './compiled-policy.ts';
import { findTooManyLimits } from './limits-per-call.ts';
import { placeholder } from './placeholder.ts';
import { compilerVersion, type PublishedPolicy } from './published.ts';
import { interpretPolicy, PolicyError } from './reading.ts';
import { describePolicy } from './sentences.ts';
import type { PolicyTemplate } from './template.ts';
import { unfilled } from './write-published.ts';

/** Maximum size of a scope: a larger one would not leave enough room for the other claims of a PAT. */
const maxScopeBytes = 3_000;

/**
 * Compiles a policy whose `{base_url}` is filled in, with the rules for all agents.
 * @param billing - how `pay` duties are billed, if the deployment bills
 * @throws PolicyError listing every place that cannot be put into effect
 */
export function compilePolicy(policy: Policy, baseUrl: string, billing?: Billing): CompiledPolicy {
  const { rules } = interpretPolicy(policy, baseUrl);
  const tooMany = findTooManyLimits(rules);
  if (tooMany.length > 0) throw new PolicyError(tooMany);
  const granted = compileRules(rules, billing);
  if (new TextEncoder().encode(JSON.stringify(granted.scope)).length > maxScopeBytes) {
    throw new PolicyError([
      { path: '/permission', problem: 'must fit into a PAT: permit namespaces or all intents instead of so many individual ones' },
    ]);
  }
  return granted;
}

/**
 * Compiles a policy for publication.
 * @param baseUrl - address of the gate: where the policy names it, callers at another address are served theirs
 * @throws PolicyError listing every place that cannot be put into effect
 */
export function publishPolicy(template: PolicyTemplate, baseUrl: string = placeholder): PublishedPolicy {
  const policy = unfilled(template, baseUrl);
  const { rules } = compilePolicy(policy, placeholder);
  return { compiler: compilerVersion, policy, sentences: describePolicy(policy, placeholder), rules: [...rules] };
}
