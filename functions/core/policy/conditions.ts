import { compareNumbers, isNumeric, numberText } from '../../../schemas/number.ts';
import { foldName, foldTag } from '../../../schemas/text.ts';
import { formats } from '../parameters/formats.ts';
import { readLocalTime } from './local-time.ts';
import { foldNamespace } from './scope.ts';

export type Scalar = string | number | boolean;

export const comparisons = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'within'] as const;

export type Comparison = (typeof comparisons)[number];

export type Subject =
  /** a parameter of one intent if `uid` is given, else of every intent that the rule covers */
  | { of: 'parameter'; name: string; uid?: string }
  /** time of the call; time of day and day of the week are in `zone` (IANA) */
  | { of: 'dateTime' }
  | { of: 'timeOfDay' | 'dayOfWeek'; zone: string }
  /** the holder's account (see `pat/holder.ts`), verified domain or, only as an assignee, folded id */
  | { of: 'agentKey' | 'agentDomain' | 'agentId' }
  /** of the intent: its HTTP method; each of its tags; its service, by id or name */
  | { of: IntentSubject };

export const intentSubjects = ['method', 'tag', 'service'] as const;

export type IntentSubject = (typeof intentSubjects)[number];

export interface Condition {
  /** JSON pointer to the constraint */
  pointer: string;
  subject: Subject;
  comparison: Comparison;
  /** exactly one, unless the comparison is `within` */
  values: Scalar[];
  /** marks the condition that assigns the rule to an agent; see {@link readAssignee} */
  isAssignee?: true;
}

/** The known facts about an intent. Unknown ones count against the call. */
export interface JudgedIntent {
  intentUid: string;
  method?: string | undefined;
  tags?: readonly string[] | undefined;
  service?: { service_id?: string | undefined; service_name?: string | undefined } | undefined;
}

export const judgedIntent = (
  { intent_uid, endpoint, tags = [] }: { intent_uid: string; endpoint: { method: string }; tags?: readonly string[] | undefined },
  { service_id, service_name }: { service_id?: string | undefined; service_name: string },
): JudgedIntent => ({ intentUid: intent_uid, method: endpoint.method, tags, service: { service_id, service_name } });

/** The known facts about the calling agent. An unverified agent belongs to no domain. */
export interface JudgedAgent {
  account: string;
  agentId?: string | undefined;
  agentDomain?: string | undefined;
}

export interface Call extends JudgedIntent, JudgedAgent {
  /** after validation, defaults filled in */
  parameters: Record<string, unknown>;
  /** milliseconds since the epoch */
  nowMs: number;
}

export const isDate = (value: unknown): value is string => typeof value === 'string' && formats.date.holds(value);

export const isInstant = (value: unknown): value is string => typeof value === 'string' && formats['date-time'].holds(value);

/** Whether a condition is relevant to calls of this intent. */
export const concerns = ({ subject }: Condition, intentUid: string): boolean =>
  subject.of !== 'parameter' || subject.uid === undefined || foldNamespace(subject.uid) === foldNamespace(intentUid);

/**
 * Whether a condition holds for a call of an intent that it concerns. A missing parameter equals nothing.
 * @returns undefined if that is unknown: for an order comparison with a missing parameter, or for values of different types
 */
export function evaluateCondition({ subject, comparison, values }: Condition, call: Call): boolean | undefined {
  if (isIntentSubject(subject)) {
    const isMet = hasAny(subject.of, values.map(String), call);
    return comparison === 'neq' && isMet !== undefined ? !isMet : isMet;
  }
  const actual = readSubject(subject, call);
  if (actual === undefined) return ['eq', 'neq', 'within'].includes(comparison) ? comparison === 'neq' : undefined;
  const orders = values.map((value) => (subject.of === 'timeOfDay' ? compareTimes(String(actual), String(value)) : compare(actual, value)));
  if (orders.every((order) => order === undefined)) return undefined;
  const [order = Number.NaN] = orders;
  if (comparison !== 'within')
    return { eq: order === 0, neq: order !== 0, gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[comparison];
  if (orders.includes(0)) return true;
  return isNumeric(actual) && values.some((value, at) => isNumeric(value) && orders[at] === undefined) ? undefined : false;
}

/** Whether a condition is about the intent itself, so that it holds for all of its calls or for none. */
export const isIntentSubject = (subject: Subject): subject is { of: IntentSubject } => intentSubjects.some((one) => one === subject.of);

/** Whether an intent has this method, one of these tags, or one of these services; undefined if unknown. */
function hasAny(subject: IntentSubject, values: readonly string[], { method, tags, service }: JudgedIntent): boolean | undefined {
  if (subject === 'method') return method === undefined ? undefined : values.some((value) => value.toUpperCase() === method);
  if (subject === 'tag') return tags?.some((tag) => values.some((value) => foldTag(value) === foldTag(tag)));
  const { service_id: id, service_name: name } = service ?? {};
  if (values.some((value) => value === id || (name !== undefined && foldName(value) === foldName(name)))) return true;
  return id === undefined || name === undefined ? undefined : false;
}

function readSubject(
  subject: Exclude<Subject, { of: IntentSubject }>,
  { parameters, account, agentId, agentDomain, nowMs }: Call,
): unknown {
  if (subject.of === 'parameter') return Object.hasOwn(parameters, subject.name) ? parameters[subject.name] : undefined;
  if (subject.of === 'agentKey') return account;
  if (subject.of === 'agentDomain') return agentDomain;
  if (subject.of === 'agentId') return agentId === undefined ? undefined : foldName(agentId);
  if (subject.of === 'dateTime') return new Date(nowMs).toISOString();
  return 'zone' in subject ? readLocalTime(nowMs, subject.zone)[subject.of] : undefined;
}

/**
 * Negative, 0 or positive; NaN for different texts without an order; undefined for values that cannot be compared. Texts that are canonically
 * equivalent in Unicode are equal.
 */
function compare(actual: unknown, value: Scalar): number | undefined {
  if (isNumeric(actual) && isNumeric(value)) {
    const order = compareNumbers(actual, value);
    // An upstream may round numbers to double precision: if that would change the order, the result is unknown.
    return order === Math.sign(Number(numberText(actual)) - Number(numberText(value))) ? order : undefined;
  }
  if (typeof actual !== typeof value) return undefined;
  if (isInstant(value)) return isInstant(actual) ? orderOfInstants(actual, value) : undefined;
  if (isDate(value)) return isDate(actual) ? orderOf(actual, value) : undefined;
  return compose(actual) === compose(value) ? 0 : Number.NaN;
}

/** Compares to the minute or second to which the time is stated. */
const compareTimes = (now: string, time: string): number => orderOf(now.slice(0, time.length), time);

const compose = (value: unknown): unknown => (typeof value === 'string' ? value.normalize('NFC') : value);

const orderOf = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Compares whole seconds, then fractions of any length. A leap second counts as the first second of the next minute. */
function orderOfInstants(a: string, b: string): number {
  const [[seconds, fraction], [otherSeconds, otherFraction]] = [instantOf(a), instantOf(b)];
  return seconds === otherSeconds ? orderOf(fraction, otherFraction) : seconds - otherSeconds;
}

/** In milliseconds, for samples of times. A leap second is the one after it. */
export const millisecondsOf = (instant: string): number => {
  const [seconds, fraction] = instantOf(instant);
  return seconds * 1_000 + Math.floor(Number(`0.${fraction || 0}`) * 1_000);
};

function instantOf(text: string): [seconds: number, fraction: string] {
  const isLeap = text.slice(17, 19) === '60';
  const [, fraction = ''] = /\.(\d+)/.exec(text) ?? [];
  const whole = text
    .toUpperCase()
    .replace(/\.\d+/, '')
    .replace(/^(.{17})60/, '$159');
  return [Date.parse(whole) / 1000 + (isLeap ? 1 : 0), fraction.replace(/0+$/, '')];
}
