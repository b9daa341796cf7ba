import type { JudgedIntent } from '../../functions/core/policy/conditions.ts';
import { describeRule } from '../../functions/core/policy/describe.ts';
import { nameDuration } from '../../functions/core/policy/durations.ts';
import type { Payment } from '../../functions/core/policy/duties.ts';
import { openConditions, rulesFor, rulesRequiringApproval } from '../../functions/core/policy/judge.ts';
import { interpretPolicy, PolicyError, type Rule } from '../../functions/core/policy/reading.ts';
import type { Policy } from '../../schemas/policy.ts';

export interface Terms {
  /** whether an agent that has accepted the policy may run it: always, under conditions, or never, because nothing permits it or a rule prohibits it */
  access: 'open' | 'conditional' | 'not permitted' | 'prohibited';
  sentences: string[];
  /** undefined if it is free */
  price: string | undefined;
  /** whether a person must approve each permitted call, or some of them */
  approval: 'always' | 'conditional' | undefined;
}

/**
 * Reads the policy as the gate does.
 * @param publicUrl - the gate's public address, with which the policy's targets begin
 * @returns a function that looks up an intent's terms; it returns undefined if this page does not understand the policy
 */
export function readTerms(policy: Policy, publicUrl: string): (intent: JudgedIntent) => Terms | undefined {
  try {
    const { rules } = interpretPolicy(policy, publicUrl);
    return (intent) => {
      const own = rulesFor(rules, intent);
      const of = (kind: string) => own.filter((rule) => rule.kind === kind);
      const isPlain = (rule: Rule) => openConditions(rule, intent).length === 0;
      const permissions = of('permission');
      const approving = rulesRequiringApproval(own);
      const isAlways = approving.some(isPlain) || permissions.length === approving.length;
      const said = {
        sentences: own.map(describeRule),
        price: [...new Set(permissions.flatMap(({ payments }) => payments.map(namePrice).join(' and ') || []))].join(' or ') || undefined,
        approval: approving.length === 0 ? undefined : isAlways ? ('always' as const) : ('conditional' as const),
      };
      if (of('prohibition').some(isPlain)) return { access: 'prohibited', ...said };
      if (permissions.length === 0) return { access: 'not permitted', ...said };
      const isOpen = permissions.some(isPlain) && of('prohibition').length === 0;
      return { access: isOpen ? 'open' : 'conditional', ...said };
    };
  } catch (error) {
    if (error instanceof PolicyError) return () => undefined;
    throw error;
  }
}

const namePrice = ({ amount, currency, every, budget }: Payment): string =>
  `${nameMoney(amount, currency)} per ${every === undefined || budget ? 'call' : nameDuration(every)}`;

/** An amount with the symbol of its currency: `€10`, `€0.50`. */
export const nameMoney = (amount: number, currency: string): string =>
  amount.toLocaleString('en', { style: 'currency', currency, maximumFractionDigits: 20, trailingZeroDisplay: 'stripIfInteger' });
