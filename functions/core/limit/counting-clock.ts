import type { TableClock, TimeBounds } from '../table/table-clock.ts';
import { bucketMs } from './window.ts';

export interface Reading extends TimeBounds {
  /** why the bounds are too wide or too uncertain to count by */
  doubt?: string;
}

/** Why a call cannot be counted; the log shows its name. */
export class WrongClock extends Error {
  override readonly name = 'WrongClock';
}

/** The clock for counting: the table's time, which all instances share. */
export interface CountingClock {
  /** @param period - of the limit, in seconds: shorter periods need closer bounds */
  read(period: number): Reading;
}

/** Maximum difference between an instance's clock and the table's, in milliseconds; beyond it, nothing is counted. */
const maxErrorMs = 10_000;

/** Uncertainty of a table's first response, in milliseconds: one second, twice the tolerance of its date, and the round trip. */
const firstDoubtMs = 1_500;

/** Maximum uncertainty for counting in windows of a period, in milliseconds. */
export const maxDoubtMs = (period: number): number => Math.min(bucketMs(period) / 2, firstDoubtMs);

/** How far an instance's own clock is trusted while no response contradicts it. */
const trustedMs = (period: number): number => maxDoubtMs(period) / 4;

export const openExactClock = (now: () => number): CountingClock => ({ read: () => ({ earliestMs: now(), latestMs: now() }) });

/**
 * The table's time, as far as it is known: by its answers alone if they bound it closely enough for the period; else by the clock of this
 * instance, if that shows a time within those bounds.
 * @param table - none if the table does not tell the time
 * @param ownMs - this instance's clock, in milliseconds since the epoch
 */
export function openCountingClock(table: TableClock | undefined, ownMs: () => number = () => Date.now()): CountingClock {
  return {
    read: (period) => {
      const own = ownMs();
      const measured = table?.bounds() ?? { earliestMs: Number.NEGATIVE_INFINITY, latestMs: Number.POSITIVE_INFINITY };
      const errorMs = Math.max(0, own - measured.latestMs, measured.earliestMs - own);
      if (measured.latestMs - measured.earliestMs <= maxDoubtMs(period)) {
        return errorMs <= maxErrorMs ? measured : { ...measured, doubt: describe(errorMs, maxErrorMs) };
      }
      if (errorMs > 0) return { ...measured, doubt: describe(errorMs, trustedMs(period)) };
      return { earliestMs: own - trustedMs(period), latestMs: own + trustedMs(period) };
    },
  };
}

const describe = (errorMs: number, bearableMs: number): string =>
  `the clock of this instance is at least ${Math.ceil(errorMs)} ms from the table's; at most ${Math.floor(bearableMs)} ms are tolerated`;
