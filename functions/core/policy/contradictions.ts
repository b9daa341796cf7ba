import type { Issue } from '../../../schemas/errors.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { days } from './clock.ts';
import { type Call, type Condition, holds, isDate, isInstant, type Scalar } from './conditions.ts';
import { describeRule } from './describe.ts';
import { findWider } from './judge.ts';
import { interpretPolicy, type Rule } from './reading.ts';
import { isRuledOut, oneIntent } from './scope.ts';

/**
 * What a policy says that has no effect: rules that no call can meet, and permissions whose conditions others go round. The policy can be
 * put into effect, but hardly means that.
 * @param policy - with `{base_url}` filled in
 * @throws PolicyError if it cannot be put into effect
 */
export function findContradictions(policy: Policy, baseUrl: string): Issue[] {
  const { rules } = interpretPolicy(policy, baseUrl);
  return rules.flatMap((rule): Issue[] => {
    const problem = findProblem(rule, rules);
    return problem === undefined ? [] : [{ path: rule.place, problem: `${problem}: ${describeRule(rule)}` }];
  });
}

function findProblem(rule: Rule, rules: readonly Rule[]): string | undefined {
  const contradictory = findContradictory(rule.conditions);
  if (contradictory) {
    const [first] = contradictory;
    const because = `because no call meets ${contradictory.map(({ place }) => place).join(' and ')}`;
    if (rule.kind !== 'permission') return `applies to nothing, ${because}`;
    const uid = first?.subject.of === 'parameter' ? first.subject.uid : undefined;
    return uid === undefined || rule.entry === oneIntent(uid) ? `allows nothing, ${because}` : `allows no call of ${uid}, ${because}`;
  }
  if (rule.kind !== 'permission') return undefined;
  const prohibition = rules.find(
    ({ kind, entry, conditions }) => kind === 'prohibition' && conditions.length === 0 && isRuledOut([entry], rule.entry),
  );
  if (prohibition) return `allows nothing, because ${prohibition.place} prohibits all of it`;
  const dear = rule.charges.find(({ cost, rate }) => cost > rate);
  if (dear) return `allows nothing, because the price is more than the budget (${dear.rule})`;
  const wider = findWider(rule, rules);
  return wider && `does not restrict what ${wider.place} permits without its conditions, and limits only calls that meet them`;
}

/** Conditions on one thing that no value meets. */
function findContradictory(conditions: readonly Condition[]): Condition[] | undefined {
  const bySubject = Map.groupBy(conditions, ({ subject }) => JSON.stringify(subject));
  return [...bySubject.values()].find(
    (same) => !candidatesFor(same).some((call) => same.every((condition) => holds(condition, call) === true)),
  );
}

/** Calls of which one meets these conditions on one thing, if any call does: the constants that they name, and values between and beyond them. */
function candidatesFor(conditions: readonly Condition[]): Call[] {
  const [{ subject } = { subject: { of: 'dateTime' } as const }] = conditions;
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
      return neighbours(constants).map((value) => ({ ...call, nowMs: Date.parse(String(value)) }));
    // every minute of a week, for which clocks do not change in any zone that matters to what a clock can show
    case 'timeOfDay':
    case 'dayOfWeek':
      return Array.from({ length: days.length * 24 * 60 }, (_, minute) => ({ ...call, nowMs: Date.UTC(2026, 0, 5) + minute * 60_000 }));
  }
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
