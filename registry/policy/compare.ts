import type { CompiledPolicy } from '../../functions/core/policy/compiled-policy.ts';
import { concerns, type JudgedIntent } from '../../functions/core/policy/conditions.ts';
import { describeRule } from '../../functions/core/policy/describe.ts';
import { mayBeExecuted, openConditions, rulesFor } from '../../functions/core/policy/judge.ts';
import type { Rule } from '../../functions/core/policy/reading.ts';
import { canonicalText } from '../../schemas/canonical.ts';

interface RegistryChanges {
  /** newly executable, by at least one agent */
  gained: string[];
  /** no longer executable by any agent */
  lost: string[];
  /** still permitted, but with different conditions, limits or prices */
  limitedOtherwise: { intent_uid: string; before: string[]; after: string[] }[];
}

function effectOn(intent: JudgedIntent, rule: Rule): string {
  const { kind, charges, payments } = rule;
  const conditions = openConditions(rule, intent);
  const isAbout = kind === 'permission' ? conditions.filter((condition) => concerns(condition, intent.intentUid)) : conditions;
  const asked = isAbout.map(({ pointer, ...condition }) => canonicalText(condition)).sort();
  return canonicalText({ kind, asked, charges: charges.map(({ id, cost }) => ({ id, cost })), payments });
}

/** Omits rules that never cover a call of the intent, because they have a condition on another one. */
const rulesOn = (compiled: CompiledPolicy, intent: JudgedIntent): Rule[] =>
  rulesFor(compiled.rules, intent).filter(
    ({ kind, conditions }) => kind === 'permission' || conditions.every((condition) => concerns(condition, intent.intentUid)),
  );

export function compareForRegistry(before: CompiledPolicy, after: CompiledPolicy, intents: readonly JudgedIntent[]): RegistryChanges {
  const changes: RegistryChanges = { gained: [], lost: [], limitedOtherwise: [] };
  for (const intent of intents) {
    const uid = intent.intentUid;
    const [was, is] = [mayBeExecuted(before.rules, intent), mayBeExecuted(after.rules, intent)];
    if (!was && is) changes.gained.push(uid);
    if (was && !is) changes.lost.push(uid);
    if (!was || !is) continue;
    const [earlier, now] = [rulesOn(before, intent), rulesOn(after, intent)];
    const effects = (rules: Rule[]) => [...new Set(rules.map((rule) => effectOn(intent, rule)))].sort().join('\n');
    if (effects(earlier) !== effects(now)) {
      changes.limitedOtherwise.push({ intent_uid: uid, before: earlier.map(describeRule), after: now.map(describeRule) });
    }
  }
  return changes;
}
