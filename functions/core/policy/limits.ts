import type { RateLimit } from '../../../schemas/pat.ts';

/** At most `rate` calls, or minor units of a currency, in any window of `period` seconds. */
export interface Limit extends RateLimit {
  /** identifies its window in a counter: equal limits share a window, which keeps its count when the policy changes */
  id: string;
  /** the largest rate among limits with this id, if they differ */
  maxRate?: number;
  /** its name in response headers */
  name: string;
  /** JSON pointer to its statement in the policy */
  rule?: string;
  /** ISO 4217 code of a budget, which is refunded if nothing was sent */
  currency?: string;
}

/** A limit, and the cost of one call: 1, or its price in minor units. */
export interface Charge extends Limit {
  cost: number;
  /** the cost of the most expensive kind of call, if higher */
  maxCost?: number;
}

/** The cost from which the number of remaining calls is computed: that of the most expensive kind. */
export const unitOf = ({ cost, maxCost = 0 }: Charge): number => Math.max(cost, maxCost);

/** Merges the charges of each limit: equal counts are counted once, prices paid from the same budget add up. */
export function mergeCharges(charges: readonly Charge[]): Charge[] {
  const merged = new Map<string, Charge>();
  for (const charge of charges) {
    const other = merged.get(charge.id);
    if (!other) merged.set(charge.id, charge);
    else if (charge.currency !== undefined) merged.set(charge.id, { ...other, cost: other.cost + charge.cost });
  }
  return [...merged.values()];
}

/** The tightest limit: the fewest calls per second, then the smaller burst. */
export const tightest = <T extends RateLimit>(limits: readonly T[]): T | undefined =>
  limits.toSorted((a, b) => a.rate * b.period - b.rate * a.period || a.rate - b.rate)[0];

/** Whether a limit is a rate: a number of calls per number of seconds, like a PAT's `lmt`. */
export const isRate = ({ currency, period }: Limit): boolean => currency === undefined && Number.isFinite(period);
