import type { Billing, RateLimit } from '../../../schemas/pat.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { PolicyError, readPolicy } from './reading.ts';
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
const greatestScopeBytes = 3_000;

/**
 * Turns a policy whose `{base_url}` is filled in into grants.
 * @param billing - how `pay` duties are billed, where the deployment bills at all
 * @throws PolicyError listing every place that cannot be put into effect
 */
export function compilePolicy(policy: Policy, baseUrl: string, billing?: Billing): Grants {
  const { permissions, prohibitions, limits } = readPolicy(policy, baseUrl);
  const permitted = permissions.map(({ entry }) => entry);
  const scope = withoutCovered(permitted).filter((entry) => !isRuledOut(prohibitions, entry));
  if (Buffer.byteLength(JSON.stringify(scope)) > greatestScopeBytes) {
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

/** Whether whoever keeps `limit` keeps `other` too, wherever the calls fall. */
const implies = (limit: RateLimit, other: RateLimit): boolean => limit.rate * Math.ceil(other.period / limit.period) <= other.rate;

/**
 * The limit that implies all others: a PAT carries only one.
 * @throws PolicyError where none does, as with 60 a minute and 1,000 an hour
 */
function tightest(limits: RateLimit[]): RateLimit | undefined {
  const [found] = limits.filter((limit) => limits.every((other) => implies(limit, other)));
  if (found || limits.length === 0) return found;
  const problem = 'must state rate limits of which one implies the others, because a PAT carries one: leave one out or make it tighter';
  throw new PolicyError([{ path: '/permission', problem }]);
}
