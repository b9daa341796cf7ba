import type { TrialVerdict } from '../../schemas/executions.ts';
import {
  type Call,
  type Condition,
  concerns,
  evaluateCondition,
  isIntentSubject,
  type JudgedAgent,
  type JudgedIntent,
} from '../core/policy/conditions.ts';
import { findObstacle, judge, namesIntent, type Refusal } from '../core/policy/judge.ts';
import type { Rule } from '../core/policy/reading.ts';
import { rulesOf } from '../core/policy/rule-index.ts';

/** A policy on trial: it is evaluated for calls, but decides none. */
export interface TrialPolicy {
  /** its version: the digest of its text, in which `{base_url}` stands for the gate's address */
  digest: string;
  rules: readonly Rule[];
}

/** Whether a rule counts the calls that it covers, or makes them wait. */
const hasTerms = ({ charges, needsApproval }: Rule): boolean => charges.length > 0 || needsApproval;

const covers = (rule: Rule, call: Call): boolean => namesIntent(rule, call.intentUid) && findObstacle(rule, call) === undefined;

/** JSON pointer to the condition or rule that refuses a call; empty if no permission names the intent. */
const refusingPointer = ({ condition, rule }: Refusal): string => (condition ?? rule)?.pointer ?? '';

/** The verdict of a policy on a fully known call. */
export function recordVerdict({ digest, rules }: TrialPolicy, call: Call): TrialVerdict {
  const judgement = judge(rulesOf(rules, call), call);
  if (!judgement.isPermitted) return { policy: digest, refused: refusingPointer(judgement) };
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

/** Why a call cannot be decided, and a JSON pointer to the rule that depends on it. */
export interface Doubt {
  because: string;
  pointer: string;
}

/** The verdict of a policy on a recorded call. */
export type Verdict =
  /** `sure`: covering rules; `possible`: those and rules that may cover the call; `missing`: why the permission is in doubt */
  | { isRefused: false; sure: Rule[]; possible: Rule[]; missing?: Doubt }
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

/** Judges a call as {@link judge} does, as far as it was recorded: conditions on facts that were not recorded may hold or fail. */
export function judgeRecorded(rules: readonly Rule[], call: RecordedCall): Verdict {
  const known: Call = { ...call, parameters: call.parameters ?? {}, ...agentOf(call) };
  const missingFor = (condition: Condition) => (concerns(condition, call.intentUid) ? findMissing(condition, call) : undefined);
  const judged = rulesOfRecorded(rules, call).map((rule) => ({
    rule,
    missing: rule.conditions.map(missingFor).find((missing) => missing !== undefined),
    /** the rule as if its unknown conditions held */
    assumed: { ...rule, conditions: rule.conditions.filter((condition) => missingFor(condition) === undefined) },
  }));
  const isUncertain = ({ rule, missing }: (typeof judged)[number]): boolean => rule.kind === 'prohibition' && missing !== undefined;
  const judgement = judge(
    judged.filter((one) => !isUncertain(one)).map(({ assumed }) => assumed),
    known,
  );
  if (!judgement.isPermitted) return { isRefused: true, pointer: refusingPointer(judgement) };
  const possible = judged.filter(({ assumed }) => judgement.rules.includes(assumed));
  const sure = possible.filter(({ missing }) => missing === undefined).map(({ rule }) => rule);
  const permissions = sure.some(({ kind }) => kind === 'permission') ? [] : possible.filter(({ rule }) => rule.kind === 'permission');
  const [undecided] = [...judged.filter((one) => isUncertain(one) && covers(one.assumed, known)), ...permissions];
  return {
    isRefused: false,
    sure,
    possible: possible.map(({ rule }) => rule),
    ...(undecided && { missing: { because: `the ${undecided.missing} was not recorded`, pointer: undecided.rule.pointer } }),
  };
}
