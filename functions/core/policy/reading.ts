import type { Issue } from '../../../schemas/errors.ts';
import { intentUidPattern } from '../../../schemas/intent-uid.ts';
import type { Obligation, Policy, PolicyPermission, Prohibition } from '../../../schemas/policy.ts';
import { pointer } from '../json.ts';
import { canonicalDigest } from './canonical.ts';
import type { Condition } from './conditions.ts';
import { type Complain, type Place, readConstraints, type StatedLimit, termOf } from './constraints.ts';
import { type Payment, readDuty, type StatedBudget } from './duties.ts';
import { type Charge, mergeCharges } from './limits.ts';
import { placeholder } from './placeholder.ts';
import { everyIntent, oneIntent, oneNamespace } from './scope.ts';

/** One sentence of a policy about executing. */
export interface Rule {
  /** JSON pointer to it */
  place: string;
  /** `limit`: neither permits nor forbids, but states how much is permitted at most */
  kind: 'permission' | 'prohibition' | 'limit';
  /** which intents it covers: a scope entry, see {@link ./scope.ts} */
  entry: string;
  /** all have to hold, or the rule does not cover the call */
  conditions: Condition[];
  /** what a call that it covers takes of which limits */
  charges: Charge[];
  /** what is to be paid for it; the gate shows that, and enforces only what has a budget */
  payments: Payment[];
}

/** A policy in the gate's own terms. */
export interface PolicyReading {
  rules: Rule[];
  /** whether the policy says that the limit must not be exceeded, which is never possible */
  isExceedingProhibited: boolean;
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

/** All windows of an agent's key are in one item, and change with one write. */
export const maxWindows = 8;

/**
 * Reads a policy whose `{base_url}` is filled in.
 * @throws PolicyError naming every place that the gate does not understand, and so could not keep
 */
export function interpretPolicy(policy: Policy, baseUrl: string): PolicyReading {
  const issues: Issue[] = [];
  const complain: Complain = (place, problem) => issues.push({ path: pointer(place), problem });
  const reading: PolicyReading = { rules: [], isExceedingProhibited: false, isSigningObliged: false };

  if (policy.uid.includes('#')) complain(['uid'], 'must not hold a fragment: the digest of the policy takes that place');
  for (const [at, permission] of (policy.permission ?? []).entries()) {
    reading.rules.push(readPermission(permission, baseUrl, ['permission', at], complain));
  }
  for (const [at, prohibition] of (policy.prohibition ?? []).entries()) {
    readProhibition(prohibition, baseUrl, ['prohibition', at], complain, reading);
  }
  for (const [at, obligation] of (policy.obligation ?? []).entries()) {
    readObligation(obligation, baseUrl, ['obligation', at], complain, reading);
  }
  checkBudgets(reading.rules, issues);
  nameLimits(reading.rules);
  if (reading.isExceedingProhibited && reading.rules.every(({ charges }) => charges.every(({ currency }) => currency !== undefined))) {
    complain(['prohibition'], 'must not prohibit exceeding a rate limit that no permission states');
  }
  checkWindows(reading.rules, issues);
  if (issues.length > 0) throw new PolicyError(issues);
  return reading;
}

function readPermission(permission: PolicyPermission, baseUrl: string, place: Place, complain: Complain): Rule {
  if (termOf(permission.action) !== 'execute') complain([...place, 'action'], 'must be execute');
  const { target, constraint = [], duty = [] } = permission;
  const entry = readTarget(target, baseUrl, [...place, 'target'], complain);
  const { conditions, limits } = readConstraints(constraint, { baseUrl, target, entry, atMost: 'lte' }, [...place, 'constraint'], complain);
  const duties = duty.map((one, at) => readDuty(one, [...place, 'duty', at], complain));
  const budgets = duties.flatMap(({ budget }) => budget ?? []);
  return {
    place: pointer(place),
    kind: 'permission',
    entry,
    conditions,
    charges: mergeCharges([
      ...limits.map((limit) => toCharge(limit, entry, conditions)),
      ...budgets.map((budget) => toBudgetCharge(budget, entry, conditions, baseUrl)),
    ]),
    payments: duties.map(({ payment }) => payment),
  };
}

/** A prohibition of `execute` subtracts; one with a rate or a count states a limit. */
function readProhibition(prohibition: Prohibition, baseUrl: string, place: Place, complain: Complain, reading: PolicyReading): void {
  const { target, constraint = [] } = prohibition;
  const action = termOf(prohibition.action);
  const entry = readTarget(target, baseUrl, [...place, 'target'], complain);
  const { conditions, limits } = readConstraints(constraint, { baseUrl, target, entry, atMost: 'gt' }, [...place, 'constraint'], complain);
  const isAboutRate = action === 'exceedRateLimit' || (action === 'execute' && limits.length > 0);
  if (isAboutRate) reading.isExceedingProhibited = true;
  else if (action !== 'execute') complain([...place, 'action'], 'must be execute or exceedRateLimit');
  if (isAboutRate && limits.length === 0) {
    if (conditions.length > 0) complain([...place, 'constraint'], 'must state a rateLimit if it has conditions');
    return;
  }
  const charges = mergeCharges(limits.map((limit) => toCharge(limit, entry, conditions)));
  reading.rules.push({ place: pointer(place), kind: isAboutRate ? 'limit' : 'prohibition', entry, conditions, charges, payments: [] });
}

/** The terms for signing: the second is that of the protocol's own examples. */
const signingTerms = ['sign', 'signPayload'];

/** The obligations that the gate holds agents to: signing the policy with the key that they present, and keeping a rate limit. */
function readObligation(obligation: Obligation, baseUrl: string, place: Place, complain: Complain, reading: PolicyReading): void {
  const { action, target = `${baseUrl}/api/intents`, constraint = [] } = obligation;
  if (termOf(action) === 'observeRateLimit') {
    const entry = readTarget(target, baseUrl, [...place, 'target'], complain);
    const { conditions, limits } = readConstraints(
      constraint,
      { baseUrl, target, entry, atMost: 'lte' },
      [...place, 'constraint'],
      complain,
    );
    if (limits.length === 0) complain([...place, 'constraint'], 'must state a rateLimit');
    const charges = mergeCharges(limits.map((limit) => toCharge(limit, entry, conditions)));
    reading.rules.push({ place: pointer(place), kind: 'limit', entry, conditions, charges, payments: [] });
    return;
  }
  reading.isSigningObliged = true;
  if (!signingTerms.includes(termOf(action))) complain([...place, 'action'], 'must be sign or observeRateLimit');
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

/** What a limit is about, besides its numbers: where it stands in the policy, and at which address the gate is, does not matter. */
const scopeOf = (entry: string, conditions: readonly Condition[]) => [
  entry,
  ...conditions.map(({ place, ...condition }) => condition).toSorted((a, b) => orderOfTexts(JSON.stringify(a), JSON.stringify(b))),
];

const orderOfTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Eight letters suffice to tell the windows of one agent apart. */
const windowId = (stated: unknown): string => canonicalDigest(stated).slice(0, 8);

const toCharge = ({ rule, rate, period }: StatedLimit, entry: string, conditions: readonly Condition[]): Charge => ({
  id: windowId(['calls', rate, Number.isFinite(period) ? period : 'ever', ...scopeOf(entry, conditions)]),
  name: '',
  rule,
  rate,
  period,
  cost: 1,
});

/** Budgets of one name are one, whatever is paid from them. */
const toBudgetCharge = (
  { rule, target, price, budget, currency, period }: StatedBudget,
  entry: string,
  conditions: readonly Condition[],
  baseUrl: string,
): Charge => ({
  id: windowId([
    'money',
    budget,
    currency,
    period,
    ...(target === undefined ? scopeOf(entry, conditions) : [target.replaceAll(baseUrl, placeholder)]),
  ]),
  name: target === undefined ? '' : termOf(target),
  rule,
  rate: budget,
  period,
  currency,
  cost: price,
});

/** A budget that several permissions name has to be the same one everywhere. */
function checkBudgets(rules: readonly Rule[], issues: Issue[]): void {
  const ids = new Map<string, string>();
  for (const { name, id, rule = '' } of rules.flatMap(({ charges }) => charges)) {
    if (name !== '' && (ids.get(name) ?? id) !== id) {
      issues.push({ path: rule, problem: 'must state the same budget, currency and time as the other duties that name this target' });
    }
    ids.set(name, ids.get(name) ?? id);
  }
}

/** Names each limit after what its rule covers: `execute` if that is every intent. Further limits of the same are numbered. */
function nameLimits(rules: readonly Rule[]): void {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { entry, charges } of rules) {
    for (const charge of charges) {
      const base = charge.name || (entry === everyIntent ? 'execute' : entry.replace(/(:\*:\*)?:execute$/, ''));
      let name = names.get(charge.id) ?? base;
      for (let number = 2; !names.has(charge.id) && taken.has(name); number++) name = `${base}-${number}`;
      names.set(charge.id, name);
      taken.add(name);
      charge.name = name;
    }
  }
}

function checkWindows(rules: readonly Rule[], issues: Issue[]): void {
  const windows = new Map(rules.flatMap(({ charges }) => charges.map((charge) => [charge.id, charge] as const)));
  for (const { rule = '' } of [...windows.values()].slice(maxWindows)) {
    issues.push({ path: rule, problem: `must be left out: a policy has at most ${maxWindows} different limits and budgets` });
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
