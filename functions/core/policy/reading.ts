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
import { coversEntry, everyIntent, oneIntent, oneNamespace } from './scope.ts';

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

/** That agents sign something with the key that they present. The gate holds them to it for the policy; anything else it shows them. */
export interface Signing {
  /** what is to be signed, if not the policy */
  target?: string;
  assignee?: string;
}

/** A policy in the gate's own terms. */
export interface PolicyReading {
  rules: Rule[];
  /** whether the policy says that the limit must not be exceeded, which is never possible */
  isExceedingProhibited: boolean;
  signings: Signing[];
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

/**
 * Reads a policy whose `{base_url}` is filled in.
 * @throws PolicyError naming every place that the gate does not understand, and so could not keep
 */
export function interpretPolicy(policy: Policy, baseUrl: string): PolicyReading {
  const issues: Issue[] = [];
  const complain: Complain = (place, problem) => issues.push({ path: pointer(place), problem });
  const reading: PolicyReading = { rules: [], isExceedingProhibited: false, signings: [] };

  if (policy.uid.includes('#')) complain(['uid'], 'must not hold a fragment: the digest of the policy takes that place');
  for (const [at, permission] of (policy.permission ?? []).entries()) {
    reading.rules.push(readPermission(permission, baseUrl, ['permission', at], complain));
  }
  for (const [at, prohibition] of (policy.prohibition ?? []).entries()) {
    readProhibition(prohibition, baseUrl, ['prohibition', at], complain, reading);
  }
  for (const [at, obligation] of (policy.obligation ?? []).entries()) {
    readObligation(obligation, baseUrl, ['obligation', at], complain, { reading, policy });
  }
  checkBudgets(reading.rules, issues);
  checkIdleConditions(reading.rules, issues);
  nameLimits(reading.rules);
  statePrices(reading.rules);
  if (reading.isExceedingProhibited && reading.rules.every(({ charges }) => charges.every(({ currency }) => currency !== undefined))) {
    complain(['prohibition'], 'must not prohibit exceeding a rate limit that no permission states');
  }
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
function readObligation(
  { action, assignee, target, constraint = [] }: Obligation,
  baseUrl: string,
  place: Place,
  complain: Complain,
  { reading, policy }: { reading: PolicyReading; policy: Policy },
): void {
  if (termOf(action) === 'observeRateLimit') {
    const named = target ?? `${baseUrl}/api/intents`;
    const entry = readTarget(named, baseUrl, [...place, 'target'], complain);
    const rule = { baseUrl, target: named, entry, atMost: 'lte' } as const;
    const { conditions, limits } = readConstraints(constraint, rule, [...place, 'constraint'], complain);
    if (limits.length === 0) complain([...place, 'constraint'], 'must state a rateLimit');
    if (assignee !== undefined)
      complain([...place, 'assignee'], 'must be left out: say by a constraint on agentKey whose calls are limited');
    const charges = mergeCharges(limits.map((limit) => toCharge(limit, entry, conditions)));
    reading.rules.push({ place: pointer(place), kind: 'limit', entry, conditions, charges, payments: [] });
    return;
  }
  const isOfPolicy = target === undefined || target === policy.uid || target === `${baseUrl}/api/policy`;
  reading.signings.push({ ...(!isOfPolicy && { target }), ...(assignee !== undefined && { assignee }) });
  if (!signingTerms.includes(termOf(action))) complain([...place, 'action'], 'must be sign or observeRateLimit');
  for (const [at, { leftOperand, operator, rightOperand, unit }] of constraint.entries()) {
    const namesTheKey = typeof rightOperand === 'string' && /^agent[-_]?public[-_]?key$/i.test(termOf(rightOperand));
    if (termOf(leftOperand) !== 'publicKey' || !['eq', 'use'].includes(operator) || !namesTheKey) {
      complain([...place, 'constraint', at], 'must say that publicKey eq agent_public_key');
    }
    if (unit !== undefined) complain([...place, 'constraint', at, 'unit'], 'must be left out: a key has no unit');
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

/**
 * A condition that decides nothing would be taken for one that does. One with a limit still says which calls that counts. Rules that are not
 * understood do not make others idle.
 */
function checkIdleConditions(rules: readonly Rule[], issues: Issue[]): void {
  const isUnderstood = ({ place }: Rule) => !issues.some(({ path }) => isWithin(path, place));
  const understood = rules.filter(isUnderstood);
  for (const rule of understood) {
    const wider = rule.charges.length === 0 && rule.payments.length === 0 ? findWider(rule, understood) : undefined;
    if (!wider) continue;
    const problem = `restricts nothing, because ${wider.place} permits the same without it: state the opposite as a prohibition, or narrow ${wider.place}`;
    issues.push(...rule.conditions.map(({ place }) => ({ path: place, problem })));
  }
}

/** A permission without conditions for all that one with conditions is about: nothing hangs on these conditions. */
export const findWider = (rule: Rule, rules: readonly Rule[]): Rule | undefined =>
  rule.kind !== 'permission' || rule.conditions.length === 0
    ? undefined
    : rules.find(({ kind, entry, conditions }) => kind === 'permission' && conditions.length === 0 && coversEntry(entry, rule.entry));

/** Whether a JSON pointer is another one, or leads to what is inside of that. */
export const isWithin = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`);

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

/**
 * Says of budgets what the dearest call may cost, if prices differ: a client knows how many calls are left, but not of which kind. What
 * permissions of the same intents ask adds up, as if their conditions could hold at once.
 */
function statePrices(rules: readonly Rule[]): void {
  const dearest = new Map<string, number>();
  for (const { entry } of rules) {
    const covering = rules.filter((other) => coversEntry(other.entry, entry)).flatMap(({ charges }) => charges);
    for (const { id, rate, cost } of mergeCharges(covering.filter(({ cost, rate }) => cost <= rate))) {
      dearest.set(id, Math.max(dearest.get(id) ?? 0, Math.min(cost, rate)));
    }
  }
  for (const charge of rules.flatMap(({ charges }) => charges)) {
    const most = dearest.get(charge.id) ?? charge.cost;
    if (most > charge.cost) charge.dearest = most;
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
