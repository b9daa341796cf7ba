import type { JudgedIntent } from '../../functions/core/policy/conditions.ts';
import { describeRule } from '../../functions/core/policy/describe.ts';
import { openConditions, rulesFor } from '../../functions/core/policy/judge.ts';
import { interpretPolicy, PolicyError, type Rule } from '../../functions/core/policy/reading.ts';
import type { Policy } from '../../schemas/policy.ts';

export interface Terms {
  /** whether whoever accepts the policy may run it: always, under conditions, or never because nothing permits it or something forbids it */
  access: 'open' | 'conditional' | 'not permitted' | 'prohibited';
  sentences: string[];
}

/**
 * Reads the policy as the gate does.
 * @param publicUrl - the gate's address for itself, which the policy's targets begin with
 * @returns what it says about an intent; nothing if this page does not understand the policy
 */
export function readTerms(policy: Policy, publicUrl: string): (intent: JudgedIntent) => Terms | undefined {
  try {
    const { rules } = interpretPolicy(policy, publicUrl);
    return (intent) => {
      const own = rulesFor(rules, intent);
      const of = (kind: string) => own.filter((rule) => rule.kind === kind);
      const isPlain = (rule: Rule) => openConditions(rule, intent).length === 0;
      const sentences = own.map(describeRule);
      if (of('prohibition').some(isPlain)) return { access: 'prohibited', sentences };
      if (of('permission').length === 0) return { access: 'not permitted', sentences };
      const isOpen = of('permission').some(isPlain) && of('prohibition').length === 0;
      return { access: isOpen ? 'open' : 'conditional', sentences };
    };
  } catch (error) {
    if (error instanceof PolicyError) return () => undefined;
    throw error;
  }
}
