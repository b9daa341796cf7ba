import { canonicalText } from './canonical.ts';
import type { Grants } from './compile.ts';
import { concerns, type JudgedIntent } from './conditions.ts';
import { describeRule } from './describe.ts';
import { mayBeExecuted, openConditions, rulesFor } from './judge.ts';
import type { Rule } from './reading.ts';

/** What a change of policy does to the intents of a registry. */
export interface RegistryChanges {
  /** nobody could execute them before */
  gained: string[];
  /** nobody can any more */
  lost: string[];
  /** permitted before and after, under other conditions, limits or prices */
  limitedOtherwise: { intent_uid: string; before: string[]; after: string[] }[];
}

/** What a rule does to calls of one intent, wherever in the policy it stands. */
function effectOn(intent: JudgedIntent, rule: Rule): string {
  const { kind, charges, payments } = rule;
  const conditions = openConditions(rule, intent);
  const isAbout = kind === 'permission' ? conditions.filter((condition) => concerns(condition, intent.intentUid)) : conditions;
  const asked = isAbout.map(({ place, ...condition }) => canonicalText(condition)).sort();
  return canonicalText({ kind, asked, charges: charges.map(({ id, cost }) => ({ id, cost })), payments });
}

/** Rules that can never cover a call of the intent, because a condition of theirs is about another one, are left out. */
const rulesOn = (grants: Grants, intent: JudgedIntent): Rule[] =>
  rulesFor(grants.rules, intent).filter(
    ({ kind, conditions }) => kind === 'permission' || conditions.every((condition) => concerns(condition, intent.intentUid)),
  );

/** The differences between two policies for these intents, in their order. */
export function compareForRegistry(before: Grants, after: Grants, intents: readonly JudgedIntent[]): RegistryChanges {
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
