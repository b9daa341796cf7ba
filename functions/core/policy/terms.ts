import type { CompiledPolicy } from './compiled-policy.ts';
import type { JudgedIntent } from './conditions.ts';
import { describeRule } from './describe.ts';
import { rulesFor, rulesForAll } from './judge.ts';

/**
 * What a policy says about one intent in particular, in plain sentences: conditions, payments, and limits that do not apply to every intent.
 */
export function describeTerms(compiled: Pick<CompiledPolicy, 'scope' | 'rules'>, intent: JudgedIntent): string[] {
  const general = rulesForAll(compiled);
  return rulesFor(compiled.rules, intent)
    .filter((rule) => rule.payments.length > 0 || rule.needsApproval || !general.includes(rule))
    .map(describeRule);
}
