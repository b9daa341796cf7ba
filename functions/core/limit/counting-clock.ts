import type { TableClock, TimeBounds } from '../table/table-clock.ts';
import { bucketMs } from './window.ts';

export interface Reading extends TimeBounds {
  /** set if the bounds are too wide or too uncertain for counting; says why */
  doubt?: string;
}

/** The cause of a call that cannot be counted; the log shows its name. */
export class WrongClock extends Error {
  override readonly name = 'WrongClock';
}

/** A clock for counting: an estimate of the table's time, which all instances share. */
export interface CountingClock {
  /** @param period - period of the limit, in seconds; shorter periods need tighter bounds */
  read(period: number): Reading;
}

/** Maximum difference between an instance's clock and the table's, in milliseconds; beyond it, nothing is counted. */
const maxErrorMs = 10_000;

/** Uncertainty after the table's first response, in milliseconds: one second, twice the tolerance of its date, and the round trip. */
const firstDoubtMs = 1_500;

/** Maximum uncertainty for counting against a limit with this period, in milliseconds. */
export const maxDoubtMs = (period: number): number => Math.min(bucketMs(period) / 2, firstDoubtMs);

/** Assumed error of an instance's own clock, in milliseconds, while no response contradicts it. */
const trustedMs = (period: number): number => maxDoubtMs(period) / 4;

export const openExactClock = (now: () => number): CountingClock => ({ read: () => ({ earliestMs: now(), latestMs: now() }) });

/**
 * Estimates the table's time: by its responses alone if they bound the time tightly enough for the period, else by this instance's clock if that
 * is within those bounds.
 * @param table - undefined if the table's responses have no date
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
