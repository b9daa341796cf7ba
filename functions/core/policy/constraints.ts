import { methods } from '../../../schemas/intent.ts';
import { intentUidPattern } from '../../../schemas/intent-uid.ts';
import type { Constraint } from '../../../schemas/policy.ts';
import { isDomain, isThumbprint } from './assignee.ts';
import {
  type Comparison,
  type Condition,
  comparisons,
  intentSubjects,
  isDate,
  isInstant,
  type Scalar,
  type Subject,
} from './conditions.ts';
import { days, isTimeOfDay, readLocalTime } from './local-time.ts';
import { withOtherNames } from './operators.ts';
import type { Position } from './position.ts';
import { coversEntry, oneIntent, termOf } from './scope.ts';

/** `period` is in seconds; `Infinity` means as long as the limit is in the policy. */
export interface StatedLimit {
  rule: string;
  rate: number;
  period: number;
}

export interface Constrained {
  baseUrl: string;
  target: string;
  entry: string;
  /** the operator that limits must have: lte in permissions, gt in prohibitions */
  atMost: 'lte' | 'gt';
}

const secondsOf = new Map([
  ['second', 1],
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
  ['week', 604_800],
]);

/** Units of `rateLimit`. */
export const periodNames = [...secondsOf.keys()];

export const operands = ['rateLimit', 'count', 'dateTime', 'timeOfDay', 'dayOfWeek', 'agentKey', 'agentDomain', ...intentSubjects] as const;

/** Reads the conditions and limits of a rule. */
export function readConstraints(constraints: readonly Constraint[], rule: Constrained, position: Position) {
  const conditions: Condition[] = [];
  const limits: StatedLimit[] = [];
  for (const [index, constraint] of constraints.entries()) {
    const here = position.at(index);
    const term = termOf(constraint.leftOperand);
    const [, owner, name] = /^(.*)\/parameters\/([^/?#]+)$/.exec(constraint.leftOperand) ?? [];
    if (name === undefined && (term === 'rateLimit' || term === 'count')) limits.push(readLimit(constraint, term, rule, here));
    else {
      const subject = name === undefined ? readSubject(term, constraint, here) : readParameter(owner ?? '', name, rule, here);
      if (subject) conditions.push(readCondition(constraint, subject, here));
    }
  }
  return { conditions, limits };
}

function readLimit(
  { rightOperand: rate, unit, operator }: Constraint,
  term: string,
  { atMost }: Constrained,
  position: Position,
): StatedLimit {
  const isRate = typeof rate === 'number' && Number.isSafeInteger(rate) && rate >= 1;
  const period = term === 'count' ? Number.POSITIVE_INFINITY : secondsOf.get(termOf(unit ?? '').toLowerCase());
  if (operator !== atMost) position.at('operator').refuse(`must be ${withOtherNames(atMost)}`);
  if (!isRate) position.at('rightOperand').refuse(`must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`);
  if (period === undefined) position.at('unit').refuse(`must be one of ${periodNames.join(', ')}`);
  if (term === 'count' && unit !== undefined) position.at('unit').refuse('must be left out: executions are counted');
  return { rule: position.pointer, rate: isRate ? rate : 1, period: period ?? 1 };
}

/** @param owner - precedes `/parameters/<name>`: the target of the rule, or one intent that it covers */
function readParameter(owner: string, name: string, { baseUrl, target, entry }: Constrained, position: Position): Subject | undefined {
  const decoded = decode(name)?.normalize('NFC');
  const uid = owner.startsWith(`${baseUrl}/api/intents/`) ? decode(owner.slice(baseUrl.length + '/api/intents/'.length)) : undefined;
  if (decoded !== undefined && owner === target) return { of: 'parameter', name: decoded };
  const isIntent = decoded !== undefined && uid !== undefined && intentUidPattern.test(uid);
  if (isIntent && coversEntry(entry, oneIntent(uid))) return { of: 'parameter', name: decoded, uid };
  position
    .at('leftOperand')
    .refuse(
      isIntent
        ? 'must name a parameter of an intent that the target covers'
        : 'must be {base_url}/api/intents/<intent_uid>/parameters/<name>, or the target and /parameters/<name>',
    );
  return undefined;
}

const plainSubjects = ['dateTime', 'agentKey', 'agentDomain', ...intentSubjects] as const;

function readSubject(term: string, { unit }: Constraint, position: Position): Subject | undefined {
  const plain = plainSubjects.find((one) => one === term);
  if (plain !== undefined) return { of: plain };
  if (term !== 'timeOfDay' && term !== 'dayOfWeek') {
    position.at('leftOperand').refuse(`must be one of ${operands.join(', ')}, or end in /parameters/<name>`);
    return undefined;
  }
  const [, zone = 'UTC'] = /#(.+)$/.exec(unit ?? '') ?? [];
  if (isTimeZone(zone) && (unit === undefined || unit.includes('#'))) return { of: term, zone };
  position.at('unit').refuse('must be a URI that ends in # and a time zone such as Europe/Berlin, or be left out for UTC');
  return undefined;
}

function readCondition({ operator, rightOperand, unit }: Constraint, subject: Subject, position: Position): Condition {
  const comparison = comparisons.find((one) => one === operator);
  const given = comparison === 'within' ? rightOperand : [rightOperand];
  const scalars = (Array.isArray(given) ? given : []).filter(isScalar);
  const values = subject.of === 'dateTime' ? scalars.map(startOfDay) : scalars;
  const isList = Array.isArray(given) && given.length > 0 && values.length === given.length && new Set(values.map(kindOf)).size === 1;
  const wanted =
    comparison === 'within' ? 'a non-empty list of strings, numbers or booleans, all of one type' : 'a string, a number or a boolean';
  if (!comparison) position.at('operator').refuse(`must be one of ${withOtherNames(...comparisons)}`);
  else if (!isList) position.at('rightOperand').refuse(`must be ${wanted}`);
  else checkValues(subject, comparison, values, position);
  if (unit !== undefined && !('zone' in subject)) position.at('unit').refuse('must be left out: values are compared as they are');
  return { pointer: position.pointer, subject, comparison: comparison ?? 'eq', values };
}

const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value);

const kindOf = (value: Scalar): string => (isInstant(value) ? 'instant' : isDate(value) ? 'date' : typeof value);

const ofText = (holds: (text: string) => boolean) => (value: Scalar) => typeof value === 'string' && holds(value);

/** The comparisons (orders or others) and values that each operand allows. */
const operandRules: Record<
  Exclude<Subject['of'], 'parameter'>,
  { isOrdered: boolean; accepts: (value: Scalar) => boolean; accepted: string }
> = {
  dateTime: {
    isOrdered: true,
    accepts: isInstant,
    accepted: 'a day such as 2026-02-28, or a date and time with an offset, such as 2026-02-28T12:00:00Z',
  },
  timeOfDay: { isOrdered: true, accepts: isTimeOfDay, accepted: 'a time of day such as 09:00 or 09:00:30' },
  dayOfWeek: { isOrdered: false, accepts: (value) => days.some((day) => day === value), accepted: `one of ${days.join(', ')}` },
  agentKey: { isOrdered: false, accepts: ofText(isThumbprint), accepted: 'the RFC 7638 thumbprint of a key' },
  agentDomain: {
    isOrdered: false,
    accepts: ofText(isDomain),
    accepted: 'the domain of an agent directory in lower case, such as bot.example',
  },
  agentId: { isOrdered: false, accepts: ofText((text) => text !== ''), accepted: 'an agent_id' },
  method: {
    isOrdered: false,
    accepts: ofText((text) => methods.some((method) => method === text.toUpperCase())),
    accepted: `one of ${methods.join(', ')}`,
  },
  tag: { isOrdered: false, accepts: ofText((text) => text.trim() !== ''), accepted: 'a tag' },
  service: { isOrdered: false, accepts: ofText((text) => text.trim() !== ''), accepted: 'the service_id or the name of a service' },
};

const isOrdering = (comparison: Comparison): boolean => ['gt', 'gte', 'lt', 'lte'].includes(comparison);

const isOrderable = (value: Scalar): boolean => typeof value === 'number' || isDate(value) || isInstant(value);

function checkValues(subject: Subject, comparison: Comparison, values: readonly Scalar[], position: Position): void {
  const right = position.at('rightOperand');
  if (subject.of === 'parameter') {
    if (isOrdering(comparison) && !values.every(isOrderable))
      right.refuse('must be a number, a date such as 2026-02-28, or a date and time with an offset, for the operators gt, gte, lt and lte');
    return;
  }
  const { isOrdered, accepts, accepted } = operandRules[subject.of];
  const others = comparisons.filter((one) => isOrdering(one) === isOrdered);
  if (!others.includes(comparison)) position.at('operator').refuse(`must be one of ${withOtherNames(...others)}`);
  if (!values.every(accepts)) right.refuse(`must be ${accepted}`);
}

/** @returns undefined for invalid percent-encoded UTF-8 */
export function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The start of a day (xsd:date), in UTC unless it names an offset; any other value unchanged. */
function startOfDay(value: Scalar): Scalar {
  const [, day, offset = 'Z'] = /^(\d{4}-\d{2}-\d{2})(Z|[+-]\d{2}:\d{2})?$/.exec(String(value)) ?? [];
  return day === undefined ? value : `${day}T00:00:00${offset}`;
}

function isTimeZone(zone: string): boolean {
  try {
    return Boolean(readLocalTime(0, zone));
  } catch {
    return false;
  }
}
