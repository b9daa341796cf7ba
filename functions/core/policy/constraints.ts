import { methods } from '../../../schemas/intent.ts';
import { intentUidPattern } from '../../../schemas/intent-uid.ts';
import type { Constraint } from '../../../schemas/policy.ts';
import { pointer } from '../json.ts';
import { clockSubjects, isZone } from './clock.ts';
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
import { coversEntry, oneIntent } from './scope.ts';

export type Place = readonly PropertyKey[];
export type Complain = (place: Place, problem: string) => void;

/** The last segment or fragment of a URI: the term that it names in its vocabulary. */
export const termOf = (uri: string): string => uri.split(/[/#:?]/).at(-1) ?? '';

/** How many calls in how many seconds; `Infinity` seconds for as long as the limit stands in the policy. */
export interface StatedLimit {
  rule: string;
  rate: number;
  period: number;
}

/** The rule that constraints belong to. */
export interface Constrained {
  baseUrl: string;
  target: string;
  entry: string;
  /** the operator that limits: a permission says lte, a prohibition gt */
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

export const operands = ['rateLimit', 'count', 'dateTime', 'timeOfDay', 'dayOfWeek', 'agentKey', ...intentSubjects] as const;

/** What the constraints of a rule say: which calls it covers, and how many of them. */
export function readConstraints(
  constraints: readonly Constraint[],
  rule: Constrained,
  place: Place,
  complain: Complain,
): { conditions: Condition[]; limits: StatedLimit[] } {
  const conditions: Condition[] = [];
  const limits: StatedLimit[] = [];
  for (const [at, constraint] of constraints.entries()) {
    const here = [...place, at];
    const term = termOf(constraint.leftOperand);
    const parameter = /^(.*)\/parameters\/([^/?#]+)$/.exec(constraint.leftOperand);
    if (!parameter && (term === 'rateLimit' || term === 'count')) limits.push(readLimit(constraint, term, rule, here, complain));
    else {
      const subject = parameter
        ? readParameter(parameter[1] ?? '', parameter[2] ?? '', rule, here, complain)
        : readSubject(term, constraint, here, complain);
      if (subject) conditions.push(readCondition(constraint, subject, here, complain));
    }
  }
  return { conditions, limits };
}

function readLimit(
  { rightOperand: rate, unit, operator }: Constraint,
  term: string,
  { atMost }: Constrained,
  place: Place,
  complain: Complain,
): StatedLimit {
  const isRate = typeof rate === 'number' && Number.isSafeInteger(rate) && rate >= 1;
  const period = term === 'count' ? Number.POSITIVE_INFINITY : secondsOf.get(termOf(unit ?? '').toLowerCase());
  if (operator !== atMost) complain([...place, 'operator'], `must be ${atMost}`);
  if (!isRate) complain([...place, 'rightOperand'], 'must be a whole number of at least 1');
  if (period === undefined) complain([...place, 'unit'], `must be one of ${periodNames.join(', ')}`);
  if (term === 'count' && unit !== undefined) complain([...place, 'unit'], 'must be left out: a count is of executions');
  return { rule: pointer(place), rate: isRate ? rate : 1, period: period ?? 1 };
}

/** @param owner - what stands before `/parameters/<name>`: the target of the rule, or one intent that this covers */
function readParameter(owner: string, name: string, { baseUrl, target, entry }: Constrained, place: Place, complain: Complain) {
  const decoded = decode(name)?.normalize('NFC');
  const uid = owner.startsWith(`${baseUrl}/api/intents/`) ? decode(owner.slice(baseUrl.length + '/api/intents/'.length)) : undefined;
  if (decoded !== undefined && owner === target) return { of: 'parameter', name: decoded } as const;
  if (decoded !== undefined && uid !== undefined && intentUidPattern.test(uid)) {
    if (coversEntry(entry, oneIntent(uid))) return { of: 'parameter', name: decoded, uid } as const;
    complain([...place, 'leftOperand'], 'must name a parameter of an intent that the target covers');
    return undefined;
  }
  complain(
    [...place, 'leftOperand'],
    'must be {base_url}/api/intents/<intent_uid>/parameters/<name>, or the target and /parameters/<name>',
  );
  return undefined;
}

function readSubject(term: string, { unit }: Constraint, place: Place, complain: Complain): Subject | undefined {
  switch (term) {
    case 'dateTime':
    case 'agentKey':
    case 'method':
    case 'tag':
    case 'service':
      return { of: term };
    case 'timeOfDay':
    case 'dayOfWeek': {
      const [, zone = 'UTC'] = /#(.+)$/.exec(unit ?? '') ?? [];
      if (isZone(zone) && (unit === undefined || unit.includes('#'))) return { of: term, zone };
      complain([...place, 'unit'], 'must be a URI that ends in # and a time zone such as Europe/Berlin, or be left out for UTC');
      return undefined;
    }
    default:
      complain([...place, 'leftOperand'], `must be one of ${operands.join(', ')}, or end in /parameters/<name>`);
      return undefined;
  }
}

function readCondition({ operator, rightOperand, unit }: Constraint, subject: Subject, place: Place, complain: Complain): Condition {
  const comparison = comparisons.find((one) => one === operator);
  const given = comparison === 'within' ? rightOperand : [rightOperand];
  const values = (Array.isArray(given) ? given : []).filter(isScalar);
  const isList = Array.isArray(given) && given.length > 0 && values.length === given.length && new Set(values.map(kindOf)).size === 1;
  if (!comparison) complain([...place, 'operator'], `must be one of ${comparisons.join(', ')}`);
  else if (!isList) {
    complain(
      [...place, 'rightOperand'],
      comparison === 'within'
        ? 'must be a list of at least one text, number, true or false, all of one kind'
        : 'must be a text, a number, true or false',
    );
  } else checkValues(subject, comparison, values, place, complain);
  if (unit !== undefined && subject.of !== 'timeOfDay' && subject.of !== 'dayOfWeek')
    complain([...place, 'unit'], 'must be left out: values are compared as they are');
  return { place: pointer(place), subject, comparison: comparison ?? 'eq', values };
}

const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value);

const kindOf = (value: Scalar): string => (isInstant(value) ? 'instant' : isDate(value) ? 'date' : typeof value);

/** Which comparisons a subject allows, and with what. */
function checkValues(subject: Subject, comparison: Comparison, values: readonly Scalar[], place: Place, complain: Complain): void {
  const isOrder = ['gt', 'gte', 'lt', 'lte'].includes(comparison);
  const require = (isRight: boolean, problem: string) => isRight || complain([...place, 'rightOperand'], problem);
  const allow = (isAllowed: boolean, problem: string) => isAllowed || complain([...place, 'operator'], problem);
  const texts = values.filter((value) => typeof value === 'string');
  switch (subject.of) {
    case 'parameter':
      if (isOrder) {
        require(values.every(
          (value) => typeof value === 'number' || isDate(value) || isInstant(value),
        ), 'must be a number, a date such as 2026-02-28, or a date and time with an offset, if the operator is an order');
      }
      return;
    case 'dateTime':
      allow(isOrder, 'must be gt, gte, lt or lte');
      require(values.every(isInstant), 'must be a date and time with an offset, such as 2026-02-28T12:00:00Z');
      return;
    case 'timeOfDay':
    case 'dayOfWeek': {
      const { holds, description } = clockSubjects[subject.of];
      if (subject.of === 'timeOfDay') allow(isOrder, 'must be gt, gte, lt or lte');
      else allow(!isOrder, 'must be eq, neq or within');
      require(texts.length === values.length && texts.every(holds), `must be ${description}`);
      return;
    }
    case 'agentKey':
      allow(!isOrder, 'must be eq, neq or within');
      require(texts.length === values.length &&
        texts.every((text) => /^[\w-]{43}$/.test(text)), 'must be the RFC 7638 thumbprint of a key');
      return;
    case 'method':
    case 'tag':
    case 'service': {
      const isRight = (text: string) => (subject.of === 'method' ? isMethod(text) : text.trim() !== '');
      allow(!isOrder, 'must be eq, neq or within');
      require(texts.length === values.length && texts.every(isRight), `must be ${intentValues[subject.of]}`);
    }
  }
}

const isMethod = (text: string): boolean => methods.some((method) => method === text.toUpperCase());

const intentValues = {
  method: `one of ${methods.join(', ')}`,
  tag: 'a tag',
  service: 'the service_id or the name of a service',
};

/** @returns undefined if the text is no percent-encoded UTF-8 */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
