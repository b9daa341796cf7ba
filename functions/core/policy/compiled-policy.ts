import type { Billing, RateLimit } from '../../../schemas/pat.ts';
import { chargesOf, rulesForAll } from './judge.ts';
import { isRate, tightest } from './limits.ts';
import type { Rule } from './reading.ts';
import { coveringEntries, isRuledOut } from './scope.ts';

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

/** What rules grant: all, those of one agent, or those that also know it (`rule-index.ts`), see {@link ./judge.ts}. */
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
  const distinct = new Set(entries);
  return [...distinct].filter((entry) => !coveringEntries(entry).some((other) => other !== entry && distinct.has(other)));
};
