import type { Issue } from '../../../schemas/errors.ts';
import { intentUidPattern } from '../../../schemas/intent-uid.ts';
import type { RateLimit } from '../../../schemas/pat.ts';
import type { Constraint, Duty, Obligation, Policy, PolicyPermission, Prohibition } from '../../../schemas/policy.ts';
import { pointer } from '../json.ts';
import { everyIntent, oneIntent, oneNamespace } from './scope.ts';

/** What a policy asks for a permission. */
export interface Payment {
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** ISO 8601 duration; without it the amount is due for each execution */
  every?: string;
}

export interface PermissionReading {
  /** a scope entry, see {@link ./scope.ts} */
  entry: string;
  limits: RateLimit[];
  payments: Payment[];
}

/** A policy in the gate's own terms. */
export interface PolicyReading {
  permissions: PermissionReading[];
  /** scope entries */
  prohibitions: string[];
  /** whether the policy says that the limit must not be exceeded, which is never possible */
  isExceedingProhibited: boolean;
  /** limits that are stated as prohibitions of more */
  limits: RateLimit[];
  isSigningObliged: boolean;
}

/** A policy that the gate cannot keep to the letter. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  readonly issues: Issue[];

  constructor(issues: Issue[]) {
    super(`the policy cannot be put into effect:\n${issues.map(({ path, problem }) => `  ${path || '/'} ${problem}`).join('\n')}`);
    this.issues = issues;
  }
}

const secondsOf = new Map([
  ['second', 1],
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
  ['week', 604_800],
]);

/** The last segment or fragment of a URI: the term that it names in its vocabulary. */
const termOf = (uri: string): string => uri.split(/[/#:?]/).at(-1) ?? '';

type Place = readonly PropertyKey[];
type Complain = (place: Place, problem: string) => void;

/**
 * Reads a policy whose `{base_url}` is filled in.
 * @throws PolicyError naming every place that the gate does not understand, and so could not keep
 */
export function interpretPolicy(policy: Policy, baseUrl: string): PolicyReading {
  const issues: Issue[] = [];
  const complain: Complain = (place, problem) => issues.push({ path: pointer(place), problem });
  const reading: PolicyReading = { permissions: [], prohibitions: [], isExceedingProhibited: false, limits: [], isSigningObliged: false };

  if (policy.uid.includes('#')) complain(['uid'], 'must not hold a fragment: the digest of the policy takes that place');
  for (const [at, permission] of (policy.permission ?? []).entries()) {
    reading.permissions.push(readPermission(permission, baseUrl, ['permission', at], complain));
  }
  for (const [at, prohibition] of (policy.prohibition ?? []).entries()) {
    readProhibition(prohibition, baseUrl, ['prohibition', at], complain, reading);
  }
  for (const [at, obligation] of (policy.obligation ?? []).entries()) {
    readObligation(obligation, ['obligation', at], complain);
    reading.isSigningObliged = true;
  }
  if (reading.isExceedingProhibited && reading.limits.length === 0 && reading.permissions.every(({ limits }) => limits.length === 0)) {
    complain(['prohibition'], 'must not prohibit exceeding a rate limit that no permission states');
  }
  if (issues.length > 0) throw new PolicyError(issues);
  return reading;
}

function readPermission(permission: PolicyPermission, baseUrl: string, place: Place, complain: Complain): PermissionReading {
  if (termOf(permission.action) !== 'execute') complain([...place, 'action'], 'must be execute');
  return {
    entry: readTarget(permission.target, baseUrl, [...place, 'target'], complain),
    limits: (permission.constraint ?? []).map((constraint, at) => readLimit(constraint, 'lte', [...place, 'constraint', at], complain)),
    payments: (permission.duty ?? []).map((duty, at) => readPayment(duty, [...place, 'duty', at], complain)),
  };
}

/** A prohibition of `execute` subtracts; one with a rate states a limit. */
function readProhibition(prohibition: Prohibition, baseUrl: string, place: Place, complain: Complain, reading: PolicyReading): void {
  const action = termOf(prohibition.action);
  const entry = readTarget(prohibition.target, baseUrl, [...place, 'target'], complain);
  const limits = (prohibition.constraint ?? []).map((constraint, at) =>
    readLimit(constraint, 'gt', [...place, 'constraint', at], complain),
  );
  reading.limits.push(...limits);
  if (action === 'exceedRateLimit' || (action === 'execute' && limits.length > 0)) reading.isExceedingProhibited = true;
  else if (action === 'execute') reading.prohibitions.push(entry);
  else complain([...place, 'action'], 'must be execute or exceedRateLimit');
}

/** The terms for signing: the second is that of the protocol's own examples. */
const signingTerms = ['sign', 'signPayload'];

/** The one obligation that the gate holds agents to: signing the policy with the key that they present. */
function readObligation({ action, constraint = [] }: Obligation, place: Place, complain: Complain): void {
  if (!signingTerms.includes(termOf(action))) complain([...place, 'action'], 'must be sign');
  for (const [at, { leftOperand, operator, rightOperand }] of constraint.entries()) {
    const namesTheKey = typeof rightOperand === 'string' && /^agent[-_]?public[-_]?key$/i.test(termOf(rightOperand));
    if (termOf(leftOperand) !== 'publicKey' || !['eq', 'use'].includes(operator) || !namesTheKey) {
      complain([...place, 'constraint', at], 'must say that publicKey eq agent_public_key');
    }
  }
}

function readTarget(target: string, baseUrl: string, place: Place, complain: Complain): string {
  const intents = `${baseUrl}/api/intents`;
  if (target === intents) return everyIntent;
  const uid = target.startsWith(`${intents}/`) ? decode(target.slice(intents.length + 1)) : '';
  if (intentUidPattern.test(uid)) return oneIntent(uid);
  const [, namespace] = target.startsWith(intents) ? (/^\?namespace=([a-zA-Z0-9.-]+)$/.exec(target.slice(intents.length)) ?? []) : [];
  if (namespace !== undefined) return oneNamespace(namespace);
  complain(place, 'must be {base_url}/api/intents, {base_url}/api/intents/<intent_uid> or {base_url}/api/intents?namespace=<namespace>');
  return everyIntent;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

function readLimit(constraint: Constraint, operator: 'lte' | 'gt', place: Place, complain: Complain): RateLimit {
  const { leftOperand, rightOperand: rate, unit = '' } = constraint;
  const period = secondsOf.get(termOf(unit).toLowerCase());
  const isRate = typeof rate === 'number' && Number.isSafeInteger(rate) && rate >= 1;
  if (termOf(leftOperand) !== 'rateLimit') complain([...place, 'leftOperand'], 'must be rateLimit, the only constraint that is enforced');
  if (constraint.operator !== operator) complain([...place, 'operator'], `must be ${operator}`);
  if (!isRate) complain([...place, 'rightOperand'], 'must be a whole number of at least 1');
  if (period === undefined) complain([...place, 'unit'], `must be one of ${[...secondsOf.keys()].join(', ')}`);
  return { rate: isRate ? rate : 1, period: period ?? 1 };
}

function readPayment({ action, amount, unit = '', timeInterval }: Duty, place: Place, complain: Complain): Payment {
  const currency = termOf(unit);
  if (termOf(action) !== 'pay') complain([...place, 'action'], 'must be pay');
  if (typeof amount !== 'number' || amount < 0) complain([...place, 'amount'], 'must be a number of at least 0');
  if (!/^[A-Z]{3}$/.test(currency)) complain([...place, 'unit'], 'must be a currency: a URI that ends in its ISO 4217 code');
  return { amount: Number(amount), currency, ...(timeInterval !== undefined && { every: timeInterval }) };
}
