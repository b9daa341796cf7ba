import { type Call, type Condition, concerns, evaluateCondition, isIntentSubject, type JudgedIntent } from './conditions.ts';
import { type Charge, mergeCharges } from './limits.ts';
import type { Rule } from './reading.ts';
import { keptForIntent, rulesNaming } from './rule-index.ts';
import { coversEntry, foldNamespace, oneIntent } from './scope.ts';

export type Judgement =
  /** `rules`: those that cover the call */
  { isPermitted: true; rules: Rule[] } | Refusal;

export interface Refusal {
  isPermitted: false;
  reason: 'not_permitted' | 'prohibited' | 'condition';
  /** the deciding rule */
  rule?: Rule;
  /** the deciding condition of `rule`, if there is exactly one */
  condition?: Condition | undefined;
  /** if `rule` is a permission: the unmet conditions of other permissions */
  otherwise?: Condition[];
}

/** Whether a rule names the intent. Prohibitions and limits ignore the letter case of the namespace. */
export const namesIntent = ({ kind, entry }: Rule, intentUid: string): boolean =>
  kind === 'permission' ? coversEntry(entry, oneIntent(intentUid)) : coversEntry(foldNamespace(entry), foldNamespace(oneIntent(intentUid)));

/**
 * Whether a condition lets its rule cover a call. An unknown result never favours the call: it fails the condition of a permission, and meets that
 * of a prohibition or limit. A condition on a parameter of another intent is ignored in a permission, and never met in a prohibition or limit.
 */
export function isFulfilled({ kind }: Rule, condition: Condition, call: Call): boolean {
  if (!concerns(condition, call.intentUid)) return kind === 'permission';
  return evaluateCondition(condition, call) ?? kind !== 'permission';
}

export const findObstacle = (rule: Rule, call: Call): Condition | undefined =>
  rule.conditions.find((condition) => !isFulfilled(rule, condition, call));

/**
 * Judges a call: it is permitted if any permission covers it and no prohibition does.
 * @param rules - in policy order
 */
export function judge(rules: readonly Rule[], call: Call): Judgement {
  const covering = rulesFor(rules, call).filter((rule) => findObstacle(rule, call) === undefined);
  const prohibition = covering.find(({ kind }) => kind === 'prohibition');
  if (prohibition) {
    const [condition, ...more] = prohibition.conditions;
    if (!condition) return { isPermitted: false, reason: 'prohibited', rule: prohibition };
    return { isPermitted: false, reason: 'condition', rule: prohibition, ...(more.length === 0 && { condition }) };
  }
  if (covering.some(({ kind }) => kind === 'permission')) return { isPermitted: true, rules: covering };
  const [permission, ...others] = rulesNaming(rules, call.intentUid).filter(({ kind }) => kind === 'permission');
  if (!permission) return { isPermitted: false, reason: 'not_permitted' };
  const otherwise = others.flatMap((rule) => findObstacle(rule, call) ?? []);
  return { isPermitted: false, reason: 'condition', rule: permission, condition: findObstacle(permission, call), otherwise };
}

/** Evaluates a condition on the intent itself; undefined for other conditions, and if the fact is unknown. */
const evaluateForIntent = (condition: Condition, intent: JudgedIntent): boolean | undefined =>
  isIntentSubject(condition.subject) ? evaluateCondition(condition, { ...intent, parameters: {}, account: '', nowMs: 0 }) : undefined;

/** The rules that name an intent, without those that a condition on the intent itself excludes. */
export function rulesFor(rules: readonly Rule[], { intentUid, method, tags, service }: JudgedIntent): Rule[] {
  const intent = { intentUid, method, tags, service: service && { service_id: service.service_id, service_name: service.service_name } };
  return keptForIntent(rules, intent, () =>
    rulesNaming(rules, intentUid).filter(({ conditions }) =>
      conditions.every((condition) => evaluateForIntent(condition, intent) !== false),
    ),
  );
}

/** The conditions that the intent alone does not decide. */
export const openConditions = ({ conditions }: Rule, intent: JudgedIntent): Condition[] =>
  conditions.filter((condition) => evaluateForIntent(condition, intent) === undefined);

/** Whether some call of an intent may be permitted. */
export function mayBeExecuted(rules: readonly Rule[], intent: JudgedIntent): boolean {
  const about = rulesFor(rules, intent);
  const isProhibited = about.some((rule) => rule.kind === 'prohibition' && openConditions(rule, intent).length === 0);
  return !isProhibited && about.some(({ kind }) => kind === 'permission');
}

/** The rules that apply to every call that a scope permits. */
export const rulesForAll = ({ scope, rules }: { scope: readonly string[]; rules: readonly Rule[] }): Rule[] =>
  rules.filter(({ entry, conditions }) => conditions.length === 0 && scope.every((one) => coversEntry(entry, one)));

export const chargesOf = (rules: readonly Rule[]): Charge[] => mergeCharges(rules.flatMap(({ charges }) => charges));

/** The rules that require approval. One is enough. */
export const rulesRequiringApproval = (rules: readonly Rule[]): Rule[] => rules.filter(({ needsApproval }) => needsApproval);
