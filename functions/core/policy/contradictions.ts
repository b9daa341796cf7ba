import { canonicalText } from '../../../schemas/canonical.ts';
import type { Issue } from '../../../schemas/errors.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { candidatesFor } from './candidates.ts';
import { type Call, type Condition, evaluateCondition, type Subject } from './conditions.ts';
import { describeRule } from './describe.ts';
import { findWider, interpretPolicy, type Rule } from './reading.ts';
import { assigneeOf } from './rule-index.ts';
import { coveringEntries, foldNamespace, isRuledOut, oneIntent } from './scope.ts';

/**
 * Finds rules without effect: those that no call can meet, and permissions whose conditions another permission makes void. The gate accepts
 * such a policy, but its author probably meant something else.
 * @param policy - with `{base_url}` filled in
 * @param sinceMs - rules that apply only before this time have no effect either; milliseconds since the epoch
 * @throws PolicyError if it cannot be put into effect
 */
export function findContradictions(policy: Policy, baseUrl: string, sinceMs: number): Issue[] {
  const { rules } = interpretPolicy(policy, baseUrl);
  const positions = Map.groupBy(rules.keys(), (at) => (rules[at]?.kind === 'prohibition' ? foldNamespace(rules[at].entry) : undefined));
  /** The prohibitions that cover what a permission names, in policy order. */
  const prohibitionsOf = ({ entry }: Rule): Rule[] =>
    coveringEntries(foldNamespace(entry))
      .flatMap((covering) => positions.get(covering) ?? [])
      .sort((a, b) => a - b)
      .flatMap((at) => rules[at] ?? []);
  const problems = rules.flatMap((rule): Issue[] => {
    const problem = findProblem(rule, rules, prohibitionsOf(rule).filter(meetsAgentsOf(rule)), sinceMs);
    return problem === undefined ? [] : [{ path: rule.pointer, problem: `${problem}: ${describeRule(rule)}` }];
  });
  if (rules.some(({ kind }) => kind === 'permission')) return problems;
  return [{ path: '/permission', problem: 'is empty, so the policy allows nothing' }, ...problems];
}

/** Whether a rule may apply to an agent to which another one applies: of two assigned to agents by the same fact, only if the fact is the same. */
function meetsAgentsOf(rule: Rule): (other: Rule) => boolean {
  const assignee = assigneeOf(rule);
  return (rule) => {
    const other = assigneeOf(rule);
    return assignee?.subject.of !== other?.subject.of || assignee?.values[0] === other?.values[0];
  };
}

/** @param prohibitions - those that may concern calls of the rule */
function findProblem(rule: Rule, rules: readonly Rule[], prohibitions: readonly Rule[], sinceMs: number): string | undefined {
  if (rule.kind !== 'permission') {
    const found = findContradictory(rule, [], sinceMs);
    return found && `applies to nothing, because ${describeUnmet(found)}`;
  }
  const whole = prohibitions.find(({ conditions }) => conditions.length === 0);
  if (whole) return `allows nothing, because ${whole.pointer} prohibits all of it`;
  const contradictory = findContradictory(rule, prohibitions, sinceMs);
  if (contradictory) {
    const { against, uid } = contradictory;
    const what = uid === undefined || rule.entry === oneIntent(uid) ? 'allows nothing' : `allows no call of ${uid}`;
    const because = against.length > 0 ? `what it permits is prohibited by ${listPointers(against)}` : describeUnmet(contradictory);
    return `${what}, because ${because}`;
  }
  const unaffordable = rule.charges.find(({ cost, rate }) => cost > rate);
  if (unaffordable) return `allows nothing, because the price is more than the budget (${unaffordable.rule})`;
  const wider = rule.needsApproval ? undefined : findWider(rule, rules);
  return wider && `does not restrict what ${wider.pointer} permits without its conditions, and limits only calls that meet them`;
}

const listPointers = (stated: readonly { pointer: string }[]): string => stated.map(({ pointer }) => pointer).join(' and ');

/** @param isOver - whether earlier calls could meet them, but no later call can */
const describeUnmet = ({ own, isOver }: { own: readonly Condition[]; isOver: boolean }): string =>
  `no call meets ${listPointers(own)}${isOver ? ' any more' : ''}`;

/** Finds conditions on one subject that, together with prohibitions on that subject only, leave no value from `sinceMs` on. */
function findContradictory(rule: Rule, prohibitions: readonly Rule[], sinceMs: number) {
  for (const subject of subjectsOf([rule, ...prohibitions])) {
    const uid = subject.of === 'parameter' ? subject.uid : undefined;
    if (uid !== undefined && !isRuledOut([rule.entry], oneIntent(uid))) continue;
    const isAbout = (condition: Condition) => includes(condition.subject, subject);
    const own = rule.conditions.filter(isAbout);
    const against = prohibitions.filter(({ conditions }) => conditions.every(isAbout));
    const isMet = (call: Call) => own.every((condition) => evaluateCondition(condition, call) === true);
    if (own.length + against.length === 0) continue;
    const candidates = candidatesFor(subject, [...own, ...against.flatMap(({ conditions }) => conditions)], sinceMs).filter(isMet);
    const left = candidates.filter((call) => !against.some((rule) => mayProhibit(rule, call)));
    const isStillLeft = left.some(({ nowMs }) => subject.of !== 'dateTime' || nowMs >= sinceMs);
    const deciding = () => against.filter((rule) => candidates.some((call) => mayProhibit(rule, call)));
    if (!isStillLeft) return { own, against: deciding(), uid, isOver: left.length > 0 };
  }
  return undefined;
}

const mayProhibit = ({ conditions }: Rule, call: Call): boolean =>
  conditions.every((condition) => evaluateCondition(condition, call) !== false);

const subjectsOf = (rules: readonly Rule[]): Subject[] => {
  const subjects = rules.flatMap(({ conditions }) => conditions.map(({ subject }) => subject));
  return [...new Map(subjects.map((subject) => [keyOf(subject), subject])).values()];
};

const keys = new WeakMap<Subject, string>();

/** Equal for equal subjects. Policies ask for it so often that it is kept. */
function keyOf(subject: Subject): string {
  const key = keys.get(subject) ?? canonicalText(subject);
  keys.set(subject, key);
  return key;
}

/** Whether a subject includes another: a parameter of every intent includes that of each intent. */
const includes = (subject: Subject, other: Subject): boolean =>
  keyOf(subject) === keyOf(other) ||
  (subject.of === 'parameter' && other.of === 'parameter' && subject.name === other.name && subject.uid === undefined);
