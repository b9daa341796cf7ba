import type { Issue } from '../../../schemas/errors.ts';
import { candidatesFor, maxTexts } from './candidates.ts';
import type { Condition } from './conditions.ts';
import { isFulfilled, namesIntent } from './judge.ts';
import type { Rule } from './reading.ts';

/** Maximum number of limits of one call, so that one write of an item below 1 KB updates all of its windows. */
const maxLimitsPerCall = 8;

/** Maximum number of limits and budgets in a policy: an agent's counter grows by about 100 bytes for each. */
const maxLimits = 64;

/** Beyond this number of combinations, the remaining conditions are assumed to be compatible. */
const maxStates = 2_000;

const limitsOf = (rules: readonly Rule[]) => new Map(rules.flatMap(({ charges }) => charges.map((charge) => [charge.id, charge] as const)));

/**
 * Finds the limits beyond the maximum, for the whole policy or for one call. Two conditions on one subject (a method, a service, a key, a parameter,
 * the tags or a clock) exclude each other if no value meets both. Conditions on different subjects are assumed to be compatible.
 */
export function findTooManyLimits(rules: readonly Rule[]): Issue[] {
  const all = [...limitsOf(rules).values()];
  if (all.length > maxLimits) {
    return all.slice(maxLimits).map(({ rule = '' }) => ({
      path: rule,
      problem: `must be left out: a policy has at most ${maxLimits} different limits and budgets`,
    }));
  }
  const limiting = rules.filter(({ charges }) => charges.length > 0);
  const found = new Map<string, Issue>();
  for (const uid of regionsOf(limiting)) {
    const together = findTogether(
      limiting.filter((rule) => namesIntent(rule, uid)),
      uid,
    );
    const path = together?.at(-1);
    if (together === undefined || path === undefined) continue;
    const where = uid.startsWith('*') ? '' : ` of ${uid.replace(/:\*:\*$/, '')}`;
    const others = together.slice(0, -1).join(', ');
    const problem = `counts the same calls${where} as ${others}: at most ${maxLimitsPerCall} limits and budgets may apply to one call`;
    const key = together.join(' ');
    if (!found.has(key)) found.set(key, { path, problem });
  }
  return [...found.values()];
}

/** Representative uids, one for each set of intents that the rules treat alike: each named intent, one per namespace, and one that no rule names. */
function regionsOf(rules: readonly Rule[]): string[] {
  const named = rules.flatMap(({ entry, conditions }) => [
    entry.replace(/:execute$/, ''),
    ...conditions.flatMap(({ subject }) => (subject.of === 'parameter' && subject.uid !== undefined ? [subject.uid] : [])),
  ]);
  return [...new Set(['*:*:*', ...named])];
}

/** JSON pointers to the limits that apply together to some call of an intent, if they are too many. */
function findTogether(rules: readonly Rule[], intentUid: string): string[] | undefined {
  const isTooMany = (some: readonly Rule[]) => limitsOf(some).size > maxLimitsPerCall;
  let states = [rules].filter(isTooMany);
  for (const group of groupsOf(rules)) {
    const [first] = group;
    if (!first || (first.subject.of === 'tag' && new Set(group.flatMap(({ values }) => values)).size > maxTexts)) continue;
    const calls = candidatesFor(first.subject, group, 0);
    const next = new Map<string, Rule[]>();
    for (const state of states) {
      for (const call of calls) {
        const left = state.filter((rule) =>
          rule.conditions.every((condition) => !group.includes(condition) || isFulfilled(rule, condition, { ...call, intentUid })),
        );
        if (isTooMany(left)) next.set(left.map(({ pointer }) => pointer).join(' '), left);
      }
      if (next.size > maxStates) break;
    }
    if (next.size > maxStates) break;
    states = [...next.values()];
  }
  const [most] = states.toSorted((a, b) => limitsOf(b).size - limitsOf(a).size);
  return most && [...limitsOf(most).values()].map(({ rule = '' }) => rule);
}

/** Conditions grouped by subject: a parameter with or without its intent, and both values of one zone's clock. */
const groupsOf = (rules: readonly Rule[]): Condition[][] => [
  ...Map.groupBy(
    rules.flatMap(({ conditions }) => conditions),
    ({ subject }) => (subject.of === 'parameter' ? `parameter ${subject.name}` : 'zone' in subject ? `clock ${subject.zone}` : subject.of),
  ).values(),
];
