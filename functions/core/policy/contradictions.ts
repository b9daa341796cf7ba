import type { Issue } from '../../../schemas/errors.ts';
import { methods } from '../../../schemas/intent.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { canonicalText } from './canonical.ts';
import { days } from './clock.ts';
import { type Call, type Condition, holds, isDate, isInstant, type Scalar, type Subject } from './conditions.ts';
import { describeRule } from './describe.ts';
import { findWider, interpretPolicy, type Rule } from './reading.ts';
import { isRuledOut, oneIntent } from './scope.ts';

/**
 * What a policy says that has no effect: rules that no call can meet, and permissions whose conditions others go round. The policy can be
 * put into effect, but hardly means that.
 * @param policy - with `{base_url}` filled in
 * @param sinceMs - what holds only before has no effect either; in milliseconds since the epoch
 * @throws PolicyError if it cannot be put into effect
 */
export function findContradictions(policy: Policy, baseUrl: string, sinceMs: number): Issue[] {
  const { rules } = interpretPolicy(policy, baseUrl);
  const problems = rules.flatMap((rule): Issue[] => {
    const problem = findProblem(rule, rules, sinceMs);
    return problem === undefined ? [] : [{ path: rule.place, problem: `${problem}: ${describeRule(rule)}` }];
  });
  if (rules.some(({ kind }) => kind === 'permission')) return problems;
  return [{ path: '/permission', problem: 'states nothing, so the policy allows nothing' }, ...problems];
}

function findProblem(rule: Rule, rules: readonly Rule[], sinceMs: number): string | undefined {
  if (rule.kind !== 'permission') {
    const found = findContradictory(rule, [], sinceMs);
    return found && `applies to nothing, because ${describeUnmet(found)}`;
  }
  const prohibitions = rules.filter(({ kind, entry }) => kind === 'prohibition' && isRuledOut([entry], rule.entry));
  const whole = prohibitions.find(({ conditions }) => conditions.length === 0);
  if (whole) return `allows nothing, because ${whole.place} prohibits all of it`;
  const contradictory = findContradictory(rule, prohibitions, sinceMs);
  if (contradictory) {
    const { against, uid } = contradictory;
    const what = uid === undefined || rule.entry === oneIntent(uid) ? 'allows nothing' : `allows no call of ${uid}`;
    const because = against.length > 0 ? `what it permits is prohibited by ${listPlaces(against)}` : describeUnmet(contradictory);
    return `${what}, because ${because}`;
  }
  const dear = rule.charges.find(({ cost, rate }) => cost > rate);
  if (dear) return `allows nothing, because the price is more than the budget (${dear.rule})`;
  const wider = findWider(rule, rules);
  return wider && `does not restrict what ${wider.place} permits without its conditions, and limits only calls that meet them`;
}

const listPlaces = (stated: readonly { place: string }[]): string => stated.map(({ place }) => place).join(' and ');

/** @param isOver - calls have met them, but none will */
const describeUnmet = ({ own, isOver }: { own: readonly Condition[]; isOver: boolean }): string =>
  `no call meets ${listPlaces(own)}${isOver ? ' any more' : ''}`;

/** The conditions of a rule on one thing, and prohibitions that ask about nothing else, if they leave no value of it from a moment on. */
function findContradictory(rule: Rule, prohibitions: readonly Rule[], sinceMs: number) {
  for (const subject of subjectsOf([rule, ...prohibitions])) {
    const uid = subject.of === 'parameter' ? subject.uid : undefined;
    if (uid !== undefined && !isRuledOut([rule.entry], oneIntent(uid))) continue;
    const isAbout = (condition: Condition) => includes(condition.subject, subject);
    const own = rule.conditions.filter(isAbout);
    const against = prohibitions.filter(({ conditions }) => conditions.every(isAbout));
    const isLeft = (call: Call) =>
      own.every((condition) => holds(condition, call) === true) &&
      !against.some(({ conditions }) => conditions.every((condition) => holds(condition, call) !== false));
    if (own.length + against.length === 0) continue;
    const left = candidatesFor(subject, [...own, ...against.flatMap(({ conditions }) => conditions)], sinceMs).filter(isLeft);
    const isStillLeft = left.some(({ nowMs }) => subject.of !== 'dateTime' || nowMs >= sinceMs);
    if (!isStillLeft) return { own, against, uid, isOver: left.length > 0 };
  }
  return undefined;
}

const subjectsOf = (rules: readonly Rule[]): Subject[] => {
  const subjects = rules.flatMap(({ conditions }) => conditions.map(({ subject }) => subject));
  return [...new Map(subjects.map((subject) => [canonicalText(subject), subject])).values()];
};

/** Whether what is said about a subject is said about another one: a parameter of every intent is that of each of them. */
const includes = (subject: Subject, other: Subject): boolean =>
  canonicalText(subject) === canonicalText(other) ||
  (subject.of === 'parameter' && other.of === 'parameter' && subject.name === other.name && subject.uid === undefined);

/** Calls of which one meets these conditions on one thing, if any call does: the constants that they name, and values between and beyond them. */
function candidatesFor(subject: Subject, conditions: readonly Condition[], sinceMs: number): Call[] {
  const constants = conditions.flatMap(({ values }) => values);
  const call: Call = { intentUid: '', parameters: {}, thumbprint: '', nowMs: 0 };
  switch (subject.of) {
    case 'parameter': {
      const values = [...neighbours(constants), true, false, 'a text that no policy names'];
      const intentUid = subject.uid ?? '';
      return [{ ...call, intentUid }, ...values.map((value) => ({ ...call, intentUid, parameters: { [subject.name]: value } }))];
    }
    case 'agentKey':
      return [call, ...constants.map((value) => ({ ...call, thumbprint: String(value) }))];
    case 'dateTime':
      return [sinceMs, ...neighbours(constants).map((value) => Date.parse(String(value)))].map((nowMs) => ({ ...call, nowMs }));
    case 'method':
      return methods.map((method) => ({ ...call, method }));
    case 'tag':
      return subsetsOf(constants.map(String)).map((tags) => ({ ...call, tags }));
    case 'service': {
      const values = [...constants.map(String), 'a service that no policy names'];
      return values.flatMap((service_id) => values.map((service_name) => ({ ...call, service: { service_id, service_name } })));
    }
    // every minute of a week, for which clocks do not change in any zone that matters to what a clock can show
    case 'timeOfDay':
    case 'dayOfWeek':
      return Array.from({ length: days.length * 24 * 60 }, (_, minute) => ({ ...call, nowMs: Date.UTC(2026, 0, 5) + minute * 60_000 }));
  }
}

/** Of more texts than this, not every subset is tried. */
const maxTexts = 10;

/** Every subset of some texts; of many, none, each, and all of them. */
function subsetsOf(texts: readonly string[]): string[][] {
  const distinct = [...new Set(texts)];
  if (distinct.length > maxTexts) return [[], ...distinct.map((text) => [text]), distinct];
  return Array.from({ length: 2 ** distinct.length }, (_, chosen) => distinct.filter((_text, at) => (chosen >> at) % 2 === 1));
}

/** Values around constants and between them, of the same kinds. */
function neighbours(constants: readonly Scalar[]): Scalar[] {
  const around = (numbers: number[], step: number) => {
    const sorted = numbers.toSorted((a, b) => a - b);
    return sorted.flatMap((one, at) => [one - step, one, one + step, (one + (sorted[at + 1] ?? one)) / 2]);
  };
  const numbers = constants.filter((value) => typeof value === 'number');
  const instants = constants.filter(isInstant).map((value) => Date.parse(value));
  const dates = constants.filter(isDate).map((value) => Date.parse(value));
  const day = 86_400_000;
  return [
    ...constants,
    ...around(numbers, 1),
    ...around(instants, 1).map((timeMs) => new Date(timeMs).toISOString()),
    ...around(dates, day).map((timeMs) => new Date(timeMs).toISOString().slice(0, 10)),
  ];
}
