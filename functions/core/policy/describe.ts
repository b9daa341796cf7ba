import { type Condition, isDate, isInstant, isIntentSubject, type Scalar } from './conditions.ts';
import { nameDuration, namePeriod } from './durations.ts';
import type { Payment } from './duties.ts';
import type { Charge } from './limits.ts';
import type { Rule } from './reading.ts';
import { assigneeOf } from './rule-index.ts';
import { everyIntent, oneIntent, termOf } from './scope.ts';

function nameEntry(entry: string, several: string): string {
  const [namespace, slug, version] = entry.split(':');
  if (entry === everyIntent) return several;
  return slug === '*' ? `${several} of the namespace ${namespace}` : `the intent ${namespace}:${slug}:${version}`;
}

const nameTimes = ({ rate, period }: Charge): string =>
  `${rate} ${rate === 1 ? 'time' : 'times'} ${Number.isFinite(period) ? `${period === 3600 ? 'an' : 'a'} ${namePeriod(period)}` : 'in total'}`;

function namePayment({ amount, currency, every, budget, target }: Payment): string {
  if (budget !== undefined) {
    const source = target === undefined ? '' : ` from the budget ${termOf(target)}`;
    return `for ${amount} ${currency} each time, at most ${budget} ${currency} per ${nameDuration(every ?? '')}${source}`;
  }
  const due = every === undefined ? 'each time' : `every ${nameDuration(every)}`;
  return `for ${amount} ${currency} ${due}${target === undefined ? '' : ` (target: ${target})`}`;
}

const nameValue = (value: Scalar): string =>
  typeof value === 'string' && !isDate(value) && !isInstant(value) ? JSON.stringify(value) : String(value);

const comparisonNames = {
  eq: 'is',
  neq: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  within: 'is one of',
};

const timeNames = { ...comparisonNames, gt: 'is after', gte: 'is not before', lt: 'is before', lte: 'is not after' };

const subjectNames = {
  dateTime: 'the date',
  timeOfDay: 'the time of day',
  dayOfWeek: 'the day of the week',
  agentKey: "the thumbprint of the agent's key",
  agentDomain: 'the verified domain of the agent',
  agentId: 'the id of the agent',
  method: 'the method',
  service: 'the service',
};

/** A condition in words, for example `amount is less than 500`. @param isOfNamed - whether the intent of a parameter has just been named */
export function nameCondition({ subject, comparison, values }: Condition, isOfNamed = false): string {
  if (isIntentSubject(subject) && comparison === 'neq')
    return `${nameSubject(subject, 'no tag of the intent')} ${subject.of === 'tag' ? 'is' : 'is not'} ${values.join(', ')}`;
  const isParameter = subject.of === 'parameter';
  const isTime = !isParameter || values.some((value) => isDate(value) || isInstant(value));
  const list = values.map(isParameter ? nameValue : String).join(', ');
  return `${nameSubject(isOfNamed && isParameter ? { of: subject.of, name: subject.name } : subject)} ${(isTime ? timeNames : comparisonNames)[comparison]} ${list}`;
}

function nameSubject(subject: Condition['subject'], tag = 'a tag of the intent'): string {
  if (subject.of === 'parameter') return `parameter ${subject.name}${subject.uid === undefined ? '' : ` of ${subject.uid}`}`;
  const zone = 'zone' in subject ? ` (${subject.zone})` : '';
  return `${{ ...subjectNames, tag }[subject.of]}${zone}`;
}

const assigneeNames: Partial<Record<Condition['subject']['of'], string>> = {
  agentDomain: 'Agents verified for',
  agentKey: 'The agent with the key',
  agentId: 'The agent',
};

/** Names those to whom a rule applies: the reader, or the agents that it is assigned to. */
function nameAssignee(rule: Pick<Rule, 'conditions'>): string {
  const assignee = assigneeOf(rule);
  return assignee ? `${assigneeNames[assignee.subject.of]} ${assignee.values.join()}` : 'You';
}

/** What a rule says, in parts of a sentence. The conditions of a limit come with it, because they select the calls that it counts. */
export function describeParts(rule: Rule): { who: string; what: string; limits: string[]; prices: string[] } {
  const { kind, entry, charges, payments } = rule;
  const { may, several } = wording[kind];
  const conditions = nameConditions(rule);
  const times = charges.filter(({ currency }) => currency === undefined).map(nameTimes);
  const isLimit = kind === 'limit';
  return {
    who: nameAssignee(rule),
    what: `${may} execute ${nameEntry(entry, several)}${isLimit ? '' : conditions}`,
    limits: isLimit ? [times.map((some) => `more than ${some}`).join(' or ') + conditions] : times.map((some) => `at most ${some}`),
    prices: payments.map(namePayment),
  };
}

const wording = {
  permission: { may: 'may', several: 'every intent' },
  prohibition: { may: 'must not', several: 'any intent' },
  limit: { may: 'must not', several: 'intents' },
} as const;

/** The conditions of a rule. Those of a permission of several intents may be about one of them, and restrict no other. */
function nameConditions({ kind, entry, conditions }: Rule): string {
  const restricted = ({ subject }: Condition): string | undefined =>
    kind === 'permission' && subject.of === 'parameter' && entry !== oneIntent(subject.uid ?? '') ? subject.uid : undefined;
  const stated = Map.groupBy(
    conditions.filter(({ isAssignee }) => !isAssignee),
    restricted,
  );
  const general = stated.get(undefined) ?? [];
  stated.delete(undefined);
  const others = [...stated].map(
    ([uid, some], at) =>
      `, ${at > 0 ? 'and' : 'but'} the intent ${uid} only if ${some.map((one) => nameCondition(one, true)).join(' and ')}`,
  );
  return `${general.length > 0 ? ` if ${general.map((one) => nameCondition(one)).join(' and ')}` : ''}${others.join('')}`;
}

export function describeRule(rule: Rule): string {
  const { who, what, limits, prices } = describeParts(rule);
  if (rule.kind === 'prohibition') return `${who} ${what}, whatever else is permitted.`;
  if (rule.kind === 'limit') return `${who} ${what} ${limits.join()}.`;
  const approval = rule.needsApproval ? ['once a person has approved the call'] : [];
  return `${[`${who} ${what}`, ...limits, ...prices, ...approval].join(', ')}.`;
}

/**
 * Why a rule refuses a call, in words: its deciding condition, or the whole rule.
 * @param otherwise - the unmet conditions of other permissions of the intent, any of which would suffice
 */
export function describeRefusal(rule: Rule, condition: Condition | undefined, otherwise: readonly Condition[] = []): string {
  if (!condition) return describeRule(rule);
  if (rule.kind !== 'permission')
    return `You must not execute ${nameEntry(rule.entry, wording[rule.kind].several)} if ${nameCondition(condition)}.`;
  const ways = [...new Set([condition, ...otherwise].map((one) => nameCondition(one)))];
  return `You may execute ${otherwise.length > 0 ? 'this' : nameEntry(rule.entry, wording.permission.several)} only if ${ways.join(', or if ')}.`;
}

/**
 * The changes between two different policies in plain sentences.
 * @param before - the sentences of the earlier policy
 */
export function describeChanges(before: readonly string[], after: readonly string[]): string[] {
  const changes = [
    ...before.filter((sentence) => !after.includes(sentence)).map((sentence) => `Removed: ${sentence}`),
    ...after.filter((sentence) => !before.includes(sentence)).map((sentence) => `Added: ${sentence}`),
  ];
  return changes.length > 0 ? changes : ['Only the wording has changed, not what the policy grants or requires.'];
}
