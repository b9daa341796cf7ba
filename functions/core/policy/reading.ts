import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { intentUidPattern } from '../../../schemas/intent-uid.ts';
import type { Constraint, Obligation, Policy, PolicyPermission, Prohibition } from '../../../schemas/policy.ts';
import { isWithin } from '../json/json.ts';
import { readAssignee } from './assignee.ts';
import type { Condition } from './conditions.ts';
import { decode, readConstraints, type StatedLimit } from './constraints.ts';
import { isApproval, type Payment, readDuty, toMinorUnits, toSeconds } from './duties.ts';
import { type Charge, mergeCharges } from './limits.ts';
import { placeholder } from './placeholder.ts';
import { Position } from './position.ts';
import { coversEntry, everyIntent, oneIntent, termOf } from './scope.ts';

export interface Rule {
  /** JSON pointer to it */
  pointer: string;
  /** `limit`: only states a maximum, without permitting or forbidding */
  kind: 'permission' | 'prohibition' | 'limit';
  /** the scope entry that it covers, see {@link ./scope.ts} */
  entry: string;
  /** all must hold for the rule to cover a call */
  conditions: Condition[];
  /** the limits that a covered call counts towards, with its cost */
  charges: Charge[];
  /** prices and fees; only those with a budget are enforced */
  payments: Payment[];
  /** whether a person has to approve each call that this permission covers */
  needsApproval: boolean;
}

/** An obligation to sign with the agent's key. Enforced for the policy, and only shown for other targets. */
export interface Signing {
  /** the text to sign, if not the policy */
  target?: string;
  assignee?: string;
}

export interface PolicyReading {
  rules: Rule[];
  /** whether the policy prohibits exceeding the limit, which the gate prevents anyway */
  isExceedingProhibited: boolean;
  signings: Signing[];
}

/** A policy that the gate cannot enforce exactly. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  readonly issues: Issue[];

  constructor(issues: Issue[]) {
    super(`the policy cannot be put into effect:\n${issues.map(({ path, problem }) => `  ${path || '/'} ${problem}`).join('\n')}`);
    this.issues = issues;
  }
}

/** A longer one would not leave enough room for the other claims of a PAT, nor fit into a key of the table. */
const maxUidLength = 500;

interface Context {
  baseUrl: string;
  policyUid: string;
  reading: PolicyReading;
}

/**
 * Reads a policy whose `{base_url}` is filled in.
 * @throws PolicyError naming every place that the gate does not understand and could not enforce
 */
export function interpretPolicy(policy: Policy, baseUrl: string): PolicyReading {
  const issues: Issue[] = [];
  const root = new Position(issues);
  const reading: PolicyReading = { rules: [], isExceedingProhibited: false, signings: [] };
  const context = { baseUrl, policyUid: policy.uid, reading };

  if (policy.uid.includes('#'))
    root.at('uid').refuse('must not contain a fragment, because the gate appends the digest of the policy as the fragment');
  if (policy.uid.length > maxUidLength) root.at('uid').refuse(`must have at most ${maxUidLength} characters, because every PAT names it`);
  for (const [at, permission] of (policy.permission ?? []).entries()) readPermission(permission, context, root.at('permission', at));
  for (const [at, prohibition] of (policy.prohibition ?? []).entries()) readProhibition(prohibition, context, root.at('prohibition', at));
  for (const [at, obligation] of (policy.obligation ?? []).entries()) readObligation(obligation, context, root.at('obligation', at));
  checkBudgets(reading.rules, issues);
  checkIdleConditions(reading.rules, issues);
  nameLimits(reading.rules);
  statePrices(reading.rules);
  if (reading.isExceedingProhibited && reading.rules.every(({ charges }) => charges.every(({ currency }) => currency !== undefined))) {
    root.at('prohibition').refuse('must not prohibit exceeding a rate limit that no permission states');
  }
  if (issues.length > 0) throw new PolicyError(issues);
  return reading;
}

function readRule(
  { target, constraint = [], assignee }: { target: string; constraint?: Constraint[] | undefined; assignee?: string | undefined },
  kind: Rule['kind'],
  atMost: 'lte' | 'gt',
  baseUrl: string,
  position: Position,
): Rule {
  const entry = readTarget(target, baseUrl, position.at('target'));
  const { conditions: stated, limits } = readConstraints(constraint, { baseUrl, target, entry, atMost }, position.at('constraint'));
  if (assignee?.includes(placeholder))
    position.at('assignee').refuse(`must not contain ${placeholder}: no agent has the address of the gate`);
  const assigned = { pointer: position.at('assignee').pointer, comparison: 'eq', isAssignee: true } as const;
  const conditions = assignee === undefined ? stated : [{ ...assigned, ...readAssignee(assignee) }, ...stated];
  const charges = mergeCharges(limits.map((limit) => toCharge(limit, entry, conditions)));
  return { pointer: position.pointer, kind, entry, conditions, charges, payments: [], needsApproval: false };
}

function readPermission(permission: PolicyPermission, { baseUrl, reading }: Context, position: Position): void {
  if (termOf(permission.action) !== 'execute') position.at('action').refuse('must be execute');
  const rule = readRule(permission, 'permission', 'lte', baseUrl, position);
  const charges = [...rule.charges];
  const payments: Payment[] = [];
  let needsApproval = false;
  for (const [at, duty] of (permission.duty ?? []).entries()) {
    const stated = position.at('duty', at);
    if (isApproval(duty, stated)) {
      needsApproval = true;
      continue;
    }
    const payment = readDuty(duty, stated);
    payments.push(payment);
    if (payment.budget !== undefined) charges.push(toBudgetCharge(payment, stated.pointer, rule, baseUrl));
  }
  reading.rules.push({ ...rule, charges: mergeCharges(charges), payments, needsApproval });
}

/** A prohibition of `execute` subtracts; with a rate or a count, it states a limit. */
function readProhibition(prohibition: Prohibition, { baseUrl, reading }: Context, position: Position): void {
  const action = termOf(prohibition.action);
  const rule = readRule(prohibition, 'prohibition', 'gt', baseUrl, position);
  const isLimit = rule.charges.length > 0;
  const isAboutRate = action === 'exceedRateLimit' || (action === 'execute' && isLimit);
  if (isAboutRate) reading.isExceedingProhibited = true;
  else if (action !== 'execute') position.at('action').refuse('must be execute or exceedRateLimit');
  if (!isAboutRate || isLimit) reading.rules.push({ ...rule, kind: isAboutRate ? 'limit' : 'prohibition' });
  else if (rule.conditions.length > 0) position.at('constraint').refuse('must state a rateLimit if it has conditions');
}

/** The second term is from the protocol's own examples. */
const signingTerms = ['sign', 'signPayload'];

/** Obligations that the gate enforces: signing the policy with the presented key, and observing a rate limit. */
function readObligation(obligation: Obligation, { baseUrl, policyUid, reading }: Context, position: Position): void {
  const { action, assignee, target, constraint = [] } = obligation;
  if (termOf(action) === 'observeRateLimit') {
    const rule = readRule({ target: target ?? `${baseUrl}/api/intents`, constraint, assignee }, 'limit', 'lte', baseUrl, position);
    if (rule.charges.length === 0) position.at('constraint').refuse('must state a rateLimit');
    reading.rules.push(rule);
    return;
  }
  const isOfPolicy = target === undefined || target === policyUid || target === `${baseUrl}/api/policy`;
  reading.signings.push({ ...(!isOfPolicy && { target }), ...(assignee !== undefined && { assignee }) });
  if (!signingTerms.includes(termOf(action))) position.at('action').refuse('must be sign or observeRateLimit');
  for (const [at, { leftOperand, operator, rightOperand, unit }] of constraint.entries()) {
    const namesTheKey = typeof rightOperand === 'string' && /^agent[-_]?public[-_]?key$/i.test(termOf(rightOperand));
    if (termOf(leftOperand) !== 'publicKey' || !['eq', 'use'].includes(operator) || !namesTheKey)
      position.at('constraint', at).refuse('must state that publicKey eq agent_public_key');
    if (unit !== undefined) position.at('constraint', at, 'unit').refuse('must be left out: a key has no unit');
  }
}

function readTarget(target: string, baseUrl: string, position: Position): string {
  const intents = `${baseUrl}/api/intents`;
  if (target === intents) return everyIntent;
  const uid = target.startsWith(`${intents}/`) ? decode(target.slice(intents.length + 1)) : undefined;
  if (uid !== undefined && intentUidPattern.test(uid)) return oneIntent(uid);
  const [, namespace] = target.startsWith(intents) ? (/^\?namespace=([a-zA-Z0-9.-]+)$/.exec(target.slice(intents.length)) ?? []) : [];
  if (namespace !== undefined) return `${namespace}:*:*:execute`;
  position.refuse('must be {base_url}/api/intents, {base_url}/api/intents/<intent_uid> or {base_url}/api/intents?namespace=<namespace>');
  return everyIntent;
}

/** The counted calls, independent of where the policy states the limit, and of the address of the gate. */
const scopeOf = (entry: string, conditions: readonly Condition[]) => [
  entry,
  ...conditions.map(({ pointer, ...condition }) => condition).toSorted((a, b) => orderOfTexts(JSON.stringify(a), JSON.stringify(b))),
];

const orderOfTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Eight characters suffice to distinguish the windows of one agent. */
const windowId = (stated: unknown): string => canonicalDigest(stated).slice(0, 8);

const toCharge = ({ rule, rate, period }: StatedLimit, entry: string, conditions: readonly Condition[]): Charge => ({
  id: windowId(['calls', rate, Number.isFinite(period) ? period : 'ever', ...scopeOf(entry, conditions)]),
  name: '',
  rule,
  rate,
  period,
  cost: 1,
});

/** A price and its budget. Budgets with the same name are one budget, whatever is paid from them. */
function toBudgetCharge(
  { amount, budget = 0, currency, every = '', target }: Payment,
  rule: string,
  { entry, conditions }: Rule,
  baseUrl: string,
): Charge {
  const [cost, rate] = [toMinorUnits(amount, currency) || 1, toMinorUnits(budget, currency) || 1];
  const period = toSeconds(every);
  const scope = target === undefined ? scopeOf(entry, conditions) : [target.replaceAll(baseUrl, placeholder)];
  const id = windowId(['money', rate, currency, period, ...scope]);
  return { id, name: target === undefined ? '' : termOf(target), rule, rate, period, currency, cost };
}

/** All statements of a shared budget must agree. */
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
 * Refuses conditions that restrict nothing, because readers would assume that they do. Rules with limits, payments or approval are exempt, because
 * their conditions select the calls that these apply to. Rules with issues are ignored.
 */
function checkIdleConditions(rules: readonly Rule[], issues: Issue[]): void {
  const isUnderstood = ({ pointer }: Rule) => !issues.some(({ path }) => isWithin(path, pointer));
  const understood = rules.filter(isUnderstood);
  for (const rule of understood) {
    const statesMore = rule.charges.length > 0 || rule.payments.length > 0 || rule.needsApproval;
    const wider = statesMore ? undefined : findWider(rule, understood);
    if (!wider) continue;
    const problem = `restricts nothing, because ${wider.pointer} permits the same without it: state the opposite as a prohibition, or narrow ${wider.pointer}`;
    issues.push(...rule.conditions.map(({ pointer }) => ({ path: pointer, problem })));
  }
}

/** Finds an unconditional permission that covers everything a conditional one does, so that its conditions have no effect. */
export const findWider = (rule: Rule, rules: readonly Rule[]): Rule | undefined =>
  rule.kind !== 'permission' || rule.conditions.length === 0
    ? undefined
    : rules.find(({ kind, entry, conditions }) => kind === 'permission' && conditions.length === 0 && coversEntry(entry, rule.entry));

/** Names limits after what their rules cover: `execute` for every intent. Further limits with the same name are numbered. */
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
 * Sets the cost of the most expensive call of each budget, if prices differ, so that a client can tell how many calls of any kind are left.
 * Prices of permissions for the same intents add up, as if all their conditions could hold.
 */
function statePrices(rules: readonly Rule[]): void {
  const highest = new Map<string, number>();
  const charged = rules.filter(({ charges }) => charges.length > 0);
  for (const { entry } of rules) {
    const covering = charged.filter((other) => coversEntry(other.entry, entry)).flatMap(({ charges }) => charges);
    for (const { id, rate, cost } of mergeCharges(covering.filter(({ cost, rate }) => cost <= rate))) {
      highest.set(id, Math.max(highest.get(id) ?? 0, Math.min(cost, rate)));
    }
  }
  for (const charge of rules.flatMap(({ charges }) => charges)) {
    const most = highest.get(charge.id) ?? charge.cost;
    if (most > charge.cost) charge.maxCost = most;
  }
}
