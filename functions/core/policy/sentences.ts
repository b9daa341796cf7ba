import { canonicalText } from '../../../schemas/canonical.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { describeChanges } from './describe.ts';
import { listRules } from './name-rules.ts';
import { interpretPolicy, type Signing } from './reading.ts';

/**
 * A policy in plain sentences, one for each thing that it grants or requires.
 * @param policy - with `{base_url}` filled in
 * @throws PolicyError if it cannot be put into effect
 */
export function describePolicy(policy: Policy, baseUrl: string): string[] {
  const { rules, signings } = interpretPolicy(policy, baseUrl);
  return [
    ...(rules.some(({ kind }) => kind === 'permission') ? [] : ['This policy permits nothing.']),
    ...listRules(rules).map(({ words }) => words),
    ...new Set(signings.map(describeSigning)),
  ];
}

const describeSigning = ({ target = 'this policy', assignee }: Signing): string =>
  `Sign ${target} with your agent's key before the first call${assignee === undefined ? '' : ` (assignee: ${assignee})`}.`;

/** The changes between two policies in plain sentences; empty if there are none. */
export const comparePolicies = (before: Policy, after: Policy, baseUrl: string): string[] =>
  canonicalText(before) === canonicalText(after) ? [] : describeChanges(describePolicy(before, baseUrl), describePolicy(after, baseUrl));
