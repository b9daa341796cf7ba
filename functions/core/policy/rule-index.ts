import { foldName } from '../../../schemas/text.ts';
import { type Condition, evaluateCondition, isIntentSubject, type JudgedAgent } from './conditions.ts';
import type { Rule } from './reading.ts';
import { coveringEntries, foldNamespace, oneIntent } from './scope.ts';

// Finds the rules that concern a call without looking at the others, so that a policy for many customers or with many prohibitions costs no more than
// a short one. Lists of rules are indexed once, by identity; they are never changed.

/** Maximum number of results that are kept for each list of rules. */
const maxKept = 10_000;

const remember = <Value>(kept: Map<string, Value>, key: string, make: () => Value, max = maxKept): Value => {
  const known = kept.get(key);
  if (known !== undefined) return known;
  if (kept.size >= max) kept.clear();
  const made = make();
  kept.set(key, made);
  return made;
};

const perList = <Index>(make: (rules: readonly Rule[]) => Index) => {
  const indexes = new WeakMap<readonly Rule[], Index>();
  return (rules: readonly Rule[]): Index => {
    const index = indexes.get(rules) ?? make(rules);
    indexes.set(rules, index);
    return index;
  };
};

/** Positions in a list by a key of its items. */
const positionsBy = (keys: readonly (string | undefined)[]): Map<string | undefined, number[]> =>
  Map.groupBy(keys.keys(), (at) => keys[at]);

const pick = (rules: readonly Rule[], positions: Iterable<number>): Rule[] =>
  [...positions].sort((a, b) => a - b).flatMap((at) => rules[at] ?? []);

/** Prohibitions and limits ignore the letter case of the namespace, permissions do not. */
const entryKey = (kind: Rule['kind'], entry: string): string =>
  kind === 'permission' ? `permission ${entry}` : `other ${foldNamespace(entry)}`;

const byEntry = perList((rules) => ({
  positions: positionsBy(rules.map(({ kind, entry }) => entryKey(kind, entry))),
  asksAboutIntents: rules.some(({ conditions }) => conditions.some(({ subject }) => isIntentSubject(subject))),
  forIntents: new Map<string, Rule[]>(),
}));

/** The rules whose entry covers the intent, in policy order. */
export function rulesNaming(rules: readonly Rule[], intentUid: string): Rule[] {
  const { positions } = byEntry(rules);
  const covering = coveringEntries(oneIntent(intentUid));
  // prohibitions and limits have the same keys
  const keys = covering.flatMap((entry) => (['permission', 'limit'] as const).map((kind) => entryKey(kind, entry)));
  return pick(rules, new Set(keys.flatMap((key) => positions.get(key) ?? [])));
}

/** Keeps what `choose` picks for an intent, if rules ask about intents. It may depend only on the rules and on these facts. */
export function keptForIntent(rules: readonly Rule[], facts: unknown, choose: () => Rule[]): Rule[] {
  const { asksAboutIntents, forIntents } = byEntry(rules);
  return asksAboutIntents ? remember(forIntents, JSON.stringify(facts), choose) : choose();
}

/** The condition that assigns a rule to certain agents, if there is one: see `readAssignee` in `conditions.ts`. */
export const assigneeOf = ({ conditions }: Pick<Rule, 'conditions'>): Condition | undefined =>
  conditions.find(({ isAssignee }) => isAssignee);

const partyKey = (of: string, value: unknown): string => `${of} ${String(value).normalize('NFC')}`;

const byAssignee = perList((rules) => {
  const assignees = rules.map(assigneeOf);
  return {
    positions: positionsBy(assignees.map((one) => one && partyKey(one.subject.of, one.values[0]))),
    forAgents: new Map<string, Rule[]>(),
  };
});

/** The rules that apply to an agent, without the conditions that assign them: the same list for agents to whom the same rules are assigned. */
export function rulesOf(rules: readonly Rule[], { account, agentDomain, agentId }: JudgedAgent): readonly Rule[] {
  const { positions, forAgents } = byAssignee(rules);
  const parties = { agentKey: account, agentDomain, agentId: agentId === undefined ? undefined : foldName(agentId) };
  const own = Object.entries(parties).flatMap(([of, value]) => (value === undefined ? [] : (positions.get(partyKey(of, value)) ?? [])));
  return remember(forAgents, own.join(), () =>
    pick(rules, [...own, ...(positions.get(undefined) ?? [])]).map((rule) => ({
      ...rule,
      conditions: rule.conditions.filter(({ isAssignee }) => !isAssignee),
    })),
  );
}

const isAboutAgent = ({ subject }: Condition): boolean => ['agentKey', 'agentDomain', 'agentId'].includes(subject.of);

/** Whether rules are assigned to certain agents, or have conditions on them. */
export const dependOnAgent = (rules: readonly Rule[]): boolean => rules.some(({ conditions }) => conditions.some(isAboutAgent));

const byAgentConditions = perList((rules) => ({
  asking: [...rules.entries()].filter(([, { conditions }]) => conditions.some(isAboutAgent)),
  forAgents: new Map<string, readonly Rule[]>(),
}));

/** Maximum number of rules in all lists that are kept for agents, because each list may have nearly all rules. */
const maxKeptRules = 200_000;

/** The rules that may cover calls of an agent, without their conditions on the agent: the same list for agents of whom the same conditions hold. */
export function rulesKnowing(rules: readonly Rule[], agent: JudgedAgent): readonly Rule[] {
  const { asking, forAgents } = byAgentConditions(rules);
  if (asking.length === 0) return rules;
  const call = { ...agent, intentUid: '', parameters: {}, nowMs: 0 };
  // as in `isFulfilled`, an unknown result never favours the call
  const fails = ({ kind }: Rule, condition: Condition) =>
    isAboutAgent(condition) && !(evaluateCondition(condition, call) ?? kind !== 'permission');
  const withoutAgent = (rule: Rule): Rule | undefined =>
    rule.conditions.some((one) => fails(rule, one))
      ? undefined
      : { ...rule, conditions: rule.conditions.filter((one) => !isAboutAgent(one)) };
  const decided = new Map(asking.map(([at, rule]) => [at, withoutAgent(rule)]));
  const key = Array.from(decided.values(), (rule) => (rule ? 1 : 0)).join('');
  const choose = () => rules.flatMap((rule, at) => (decided.has(at) ? (decided.get(at) ?? []) : rule));
  return remember(forAgents, key, choose, Math.ceil(maxKeptRules / rules.length));
}
