import type { Billing, RateLimit } from '../../../schemas/pat.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { interpretPolicy, PolicyError } from './reading.ts';
import { coversEntry, isRuledOut } from './scope.ts';

/** What a policy grants to whoever signs it. */
export interface Grants {
  /** a PAT's `scope`: `<namespace>:<slug>:<version>:execute`, `*` standing for a whole segment */
  scope: string[];
  /** entries of the same form that are subtracted, and win */
  prohibited: string[];
  lmt?: RateLimit;
  bil?: Billing;
}

/** A scope beyond this many bytes would not leave room for the other claims of a PAT. */
const maxScopeBytes = 3_000;

/**
 * Turns a policy whose `{base_url}` is filled in into grants.
 * @param billing - how `pay` duties are billed, if the deployment bills
 * @throws PolicyError listing every place that cannot be put into effect
 */
export function compilePolicy(policy: Policy, baseUrl: string, billing?: Billing): Grants {
  const { permissions, prohibitions, limits } = interpretPolicy(policy, baseUrl);
  const permitted = permissions.map(({ entry }) => entry);
  const scope = withoutCovered(permitted).filter((entry) => !isRuledOut(prohibitions, entry));
  if (Buffer.byteLength(JSON.stringify(scope)) > maxScopeBytes) {
    throw new PolicyError([
      { path: '/permission', problem: 'must fit into a PAT: permit namespaces or all intents instead of so many single ones' },
    ]);
  }
  const lmt = tightest([...limits, ...permissions.flatMap((permission) => permission.limits)]);
  const isPaid = permissions.some(({ payments }) => payments.some(({ amount }) => amount > 0));
  return { scope, prohibited: withoutCovered(prohibitions), ...(lmt && { lmt }), ...(isPaid && billing && { bil: billing }) };
}

/** Drops the entries that another one covers, and repetitions. */
const withoutCovered = (entries: string[]): string[] => {
  const distinct = [...new Set(entries)];
  return distinct.filter((entry) => !distinct.some((other) => other !== entry && coversEntry(other, entry)));
};

/** The tightest of several limits, since a PAT carries one: the fewest calls a second, and of equal ones the smaller burst. */
const tightest = (limits: RateLimit[]): RateLimit | undefined =>
  limits.toSorted((a, b) => a.rate * b.period - b.rate * a.period || a.rate - b.rate)[0];
