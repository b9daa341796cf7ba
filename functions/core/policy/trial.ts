import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { TrialVerdict } from '../../../schemas/executions.ts';
import type { Billing } from '../../../schemas/pat.ts';
import { compilePolicy } from './compile.ts';
import {
  type Call,
  type Condition,
  concerns,
  evaluateCondition,
  isIntentSubject,
  type JudgedAgent,
  type JudgedIntent,
} from './conditions.ts';
import { describeRefusal } from './describe.ts';
import { isFulfilled, judge, namesIntent, rulesOf } from './judge.ts';
import { isWithin } from './position.ts';
import type { Rule } from './reading.ts';
import { fillTemplate, type PolicyTemplate } from './template.ts';

/** A policy on trial: it is evaluated for calls, but decides none. */
export interface TrialPolicy {
  /** digest of the policy file, independent of the gate's address */
  digest: string;
  rules: Rule[];
}

/** @throws PolicyError listing every place that cannot be put into effect */
export const readTrial = (template: PolicyTemplate, baseUrl: string, billing?: Billing): TrialPolicy => ({
  digest: canonicalDigest(template),
  rules: compilePolicy(fillTemplate(template, baseUrl), baseUrl, billing).rules,
});

/** Whether a rule counts the calls that it covers, or makes them wait. */
const hasTerms = ({ charges, needsApproval }: Rule): boolean => charges.length > 0 || needsApproval;

/** The verdict of a policy on a fully known call. */
export function recordVerdict({ digest, rules }: TrialPolicy, call: Call): TrialVerdict {
  const judgement = judge(rulesOf(rules, call), call);
  if (!judgement.isPermitted) return { policy: digest, refused: (judgement.condition ?? judgement.rule)?.pointer ?? '' };
  return { policy: digest, counts: judgement.rules.filter(hasTerms).map(({ pointer }) => pointer) };
}

/** A call that may have been recorded incompletely: undefined members are unknown. */
export interface RecordedCall extends JudgedIntent {
  parameters?: Record<string, unknown> | undefined;
  account?: string | undefined;
  agentId: string;
  /** empty for an unverified agent */
  agentDomain?: string | undefined;
  nowMs: number;
}

/** The verdict of a policy on a recorded call. */
export type Verdict =
  /** `sure`: rules that cover the call; `possible`: those and rules that may cover it; `missing`: the unrecorded fact that decides whether it is permitted */
  | { isRefused: false; sure: Rule[]; possible: Rule[]; missing?: string }
  /** `pointer`: JSON pointer to what refuses it, empty if no permission names the intent */
  | { isRefused: true; pointer: string };

/** The verdict that was recorded when the call was made. */
export function readVerdict(rules: readonly Rule[], { refused, counts = [] }: TrialVerdict): Verdict {
  if (refused !== undefined) return { isRefused: true, pointer: refused };
  const covering = rules.filter(({ pointer }) => counts.includes(pointer));
  return { isRefused: false, sure: covering, possible: covering };
}

const agentOf = ({ account = '', agentId, agentDomain }: RecordedCall): JudgedAgent => ({
  account,
  agentId,
  agentDomain: agentDomain || undefined,
});

/** The rules that may apply to the agent of a call. */
const rulesOfRecorded = (rules: readonly Rule[], call: RecordedCall): readonly Rule[] =>
  call.account === undefined || call.agentDomain === undefined ? rules : rulesOf(rules, agentOf(call));

/** The fact that a condition depends on, if it was not recorded. */
function findMissing(condition: Condition, call: RecordedCall): string | undefined {
  const { subject } = condition;
  if (subject.of === 'parameter') return call.parameters === undefined ? subject.name : undefined;
  if (subject.of === 'agentDomain') return call.agentDomain === undefined ? 'domain of the agent' : undefined;
  if (subject.of === 'agentKey') return call.account === undefined ? 'key of the agent' : undefined;
  if (!isIntentSubject(subject)) return undefined;
  return evaluateCondition(condition, { ...call, parameters: {}, ...agentOf(call) }) === undefined
    ? `${subject.of} of the intent`
    : undefined;
}

/** Whether a rule that names the intent covers the call; if that is unknown, the name of the missing fact. */
function covers(rule: Rule, call: RecordedCall): boolean | string {
  const known = { ...call, parameters: call.parameters ?? {}, ...agentOf(call) };
  let missing: string | undefined;
  for (const condition of rule.conditions) {
    const unknown = concerns(condition, call.intentUid) ? findMissing(condition, call) : undefined;
    if (unknown === undefined && !isFulfilled(rule, condition, known)) return false;
    missing ??= unknown;
  }
  return missing ?? true;
}

/** Judges a call as {@link judge} does, as far as it was recorded. */
export function judgeRecorded(rules: readonly Rule[], call: RecordedCall): Verdict {
  const naming = rulesOfRecorded(rules, call)
    .filter((rule) => namesIntent(rule, call.intentUid))
    .map((rule) => ({ rule, isCovering: covers(rule, call) }));
  const possible = naming.filter(({ isCovering }) => isCovering !== false);
  const of = (kind: Rule['kind']) => possible.filter(({ rule }) => rule.kind === kind);
  const [prohibition] = of('prohibition').filter(({ isCovering }) => isCovering === true);
  if (prohibition) {
    const [only, ...more] = prohibition.rule.conditions;
    return { isRefused: true, pointer: (more.length === 0 ? only?.pointer : undefined) ?? prohibition.rule.pointer };
  }
  if (of('permission').length === 0) {
    const permission = naming.find(({ rule }) => rule.kind === 'permission')?.rule;
    return { isRefused: true, pointer: permission ? findObstacle(permission, call) : '' };
  }
  const isSure = of('permission').some(({ isCovering }) => isCovering === true);
  const [unknown] = [...of('prohibition'), ...(isSure ? [] : of('permission'))];
  return {
    isRefused: false,
    sure: possible.filter(({ isCovering }) => isCovering === true).map(({ rule }) => rule),
    possible: possible.map(({ rule }) => rule),
    ...(unknown && { missing: String(unknown.isCovering) }),
  };
}

/** JSON pointer to the first condition that keeps a permission from covering a call. */
const findObstacle = (rule: Rule, call: RecordedCall): string =>
  rule.conditions.find((condition) => covers({ ...rule, conditions: [condition] }, call) === false)?.pointer ?? rule.pointer;

/** Describes in words what refuses a call. @param pointer - to a rule, one of its conditions, or what states a limit; empty if no permission names the intent */
export function describePointer(rules: readonly Rule[], pointer: string): string {
  const rule = rules.find((one) => isWithin(pointer, one.pointer));
  if (!rule) return 'No permission names the intent.';
  return describeRefusal(
    rule,
    rule.conditions.find((condition) => condition.pointer === pointer),
  );
}
