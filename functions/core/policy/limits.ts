import type { RateLimit } from '../../../schemas/pat.ts';

/** At most `rate` calls, or minor units of a currency, in any window of `period` seconds. */
export interface Limit extends RateLimit {
  /** names its window in a counter: a limit that says the same has the same one, and keeps what has been counted */
  id: string;
  /** the largest rate that limits with this id may have, if they need not have the same */
  mostRate?: number;
  /** what the headers of answers call it */
  name: string;
  /** JSON pointer to what states it in the policy */
  rule?: string;
  /** ISO 4217 code, for money. It is given back if nothing was sent. */
  currency?: string;
}

/** A limit, and how much of it one call takes: 1, or its price in minor units. */
export interface Charge extends Limit {
  cost: number;
  /** the cost of the most expensive kind of call, if that is more */
  dearest?: number;
}

/** The cost by which the number of remaining calls is computed: that of the most expensive kind of call. */
export const unitOf = ({ cost, dearest = 0 }: Charge): number => Math.max(cost, dearest);

/** Each limit once: counts of the same limit are one, prices paid from the same budget add up. */
export function mergeCharges(charges: readonly Charge[]): Charge[] {
  const merged = new Map<string, Charge>();
  for (const charge of charges) {
    const other = merged.get(charge.id);
    if (!other) merged.set(charge.id, charge);
    else if (charge.currency !== undefined) merged.set(charge.id, { ...other, cost: other.cost + charge.cost });
  }
  return [...merged.values()];
}

/** The tightest of several limits: the fewest calls a second, and of equal ones the smaller burst. */
export const tightest = <T extends RateLimit>(limits: readonly T[]): T | undefined =>
  limits.toSorted((a, b) => a.rate * b.period - b.rate * a.period || a.rate - b.rate)[0];

/** Whether a limit says how many calls may be made in how many seconds, as a PAT's `lmt` does. */
export const isRate = ({ currency, period }: Limit): boolean => currency === undefined && Number.isFinite(period);
