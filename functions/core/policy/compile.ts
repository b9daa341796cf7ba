import type { Billing, RateLimit } from '../../../schemas/pat.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { chargesOf, rulesForAll } from './judge.ts';
import { isRate, tightest } from './limits.ts';
import { findTooManyLimits } from './limits-per-call.ts';
import { interpretPolicy, PolicyError, type Rule } from './reading.ts';
import { coversEntry, isRuledOut } from './scope.ts';

/** What a policy grants to its signers, and the rules by which calls are judged. */
export interface CompiledPolicy {
  /** a PAT's `scope`: `<namespace>:<slug>:<version>:execute`, where `*` matches a whole segment */
  scope: string[];
  /** entries of the same form that are subtracted; they take precedence */
  prohibited: string[];
  /** the tightest limit that covers everything permitted */
  lmt?: RateLimit;
  bil?: Billing;
  /** see {@link ./judge.ts} */
  rules: readonly Rule[];
}

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

/** What rules grant: either all rules, or those for one agent (`rulesOf`), see {@link ./judge.ts}. */
export function compileRules(rules: readonly Rule[], billing?: Billing): CompiledPolicy {
  const permissions = rules.filter(({ kind }) => kind === 'permission');
  const prohibitions = rules.filter(({ kind, conditions }) => kind === 'prohibition' && conditions.length === 0).map(({ entry }) => entry);
  const scope = withoutCovered(permissions.map(({ entry }) => entry)).filter((entry) => !isRuledOut(prohibitions, entry));
  const limit = tightest(chargesOf(rulesForAll({ scope, rules })).filter(isRate));
  const isPaid = permissions.some(({ payments }) => payments.some(({ amount }) => amount > 0));
  return {
    scope,
    prohibited: withoutCovered(prohibitions),
    ...(limit && { lmt: { rate: limit.rate, period: limit.period } }),
    ...(isPaid && billing && { bil: billing }),
    rules,
  };
}

const withoutCovered = (entries: string[]): string[] => {
  const distinct = [...new Set(entries)];
  return distinct.filter((entry) => !distinct.some((other) => other !== entry && coversEntry(other, entry)));
};
