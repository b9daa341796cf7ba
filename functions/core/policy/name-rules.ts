import { isWithin } from '../json/json.ts';
import { describeRefusal, describeRule } from './describe.ts';
import type { Rule } from './reading.ts';

/**
 * Describes in words what refuses a call.
 * @param pointer - to a rule, one of its conditions, or what states a limit; empty if no permission names the intent
 */
export function describePointer(rules: readonly Rule[], pointer: string): string {
  const rule = rules.find((one) => isWithin(pointer, one.pointer));
  if (!rule) return 'No permission names the intent.';
  return describeRefusal(
    rule,
    rule.conditions.find((condition) => condition.pointer === pointer),
  );
}

const order: Rule['kind'][] = ['permission', 'prohibition', 'limit'];

/** Rules in words, with their JSON pointers. */
export const listRules = (rules: readonly Rule[]): { rule: string; words: string }[] =>
  rules
    .toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
    .map((rule) => ({ rule: rule.pointer, words: describeRule(rule) }));
