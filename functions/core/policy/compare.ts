import { canonicalText } from './canonical.ts';
import type { Grants } from './compile.ts';
import { concerns } from './conditions.ts';
import { describeRule } from './describe.ts';
import { rulesFor } from './judge.ts';
import type { Rule } from './reading.ts';
import { isPermitted, isProhibited } from './scope.ts';

/** What a change of policy does to the intents of a registry. */
export interface RegistryChanges {
  /** nobody could execute them before */
  gained: string[];
  /** nobody can any more */
  lost: string[];
  /** permitted before and after, under other conditions, limits or prices */
  limitedOtherwise: { intent_uid: string; before: string[]; after: string[] }[];
}

const isExecutable = (grants: Grants, uid: string): boolean => isPermitted(grants.scope, uid) && !isProhibited(grants, uid);

/** What a rule does to calls of one intent, wherever in the policy it stands. */
function effectOn(uid: string, { kind, conditions, charges, payments }: Rule): string {
  const isAbout = kind === 'permission' ? conditions.filter((condition) => concerns(condition, uid)) : conditions;
  const asked = isAbout.map(({ place, ...condition }) => canonicalText(condition)).sort();
  return canonicalText({ kind, asked, charges: charges.map(({ id, cost }) => ({ id, cost })), payments });
}

/** Rules that can never cover a call of the intent, because a condition of theirs is about another one, are left out. */
const rulesOn = (grants: Grants, uid: string): Rule[] =>
  rulesFor(grants.rules, uid).filter(
    ({ kind, conditions }) => kind === 'permission' || conditions.every((condition) => concerns(condition, uid)),
  );

/** The differences between two policies for these intents, in their order. */
export function compareForRegistry(before: Grants, after: Grants, uids: readonly string[]): RegistryChanges {
  const changes: RegistryChanges = { gained: [], lost: [], limitedOtherwise: [] };
  for (const uid of uids) {
    const [was, is] = [isExecutable(before, uid), isExecutable(after, uid)];
    if (!was && is) changes.gained.push(uid);
    if (was && !is) changes.lost.push(uid);
    if (!was || !is) continue;
    const [earlier, now] = [rulesOn(before, uid), rulesOn(after, uid)];
    const effects = (rules: Rule[]) => [...new Set(rules.map((rule) => effectOn(uid, rule)))].sort().join('\n');
    if (effects(earlier) !== effects(now)) {
      changes.limitedOtherwise.push({ intent_uid: uid, before: earlier.map(describeRule), after: now.map(describeRule) });
    }
  }
  return changes;
}
