import type { TableClock, TimeBounds } from '../table/table-clock.ts';
import { bucketMs } from './window.ts';

/** What a clock shows for counting in windows of one period. */
export interface Reading extends TimeBounds {
  /** why these bounds are too wide, or not certain enough, to count a call by */
  doubt?: string;
}

/** Why a call cannot be counted; its name is what the log shows. */
export class WrongClock extends Error {
  override readonly name = 'WrongClock';
}

/** The time that calls are counted by: the table's, which all instances share. */
export interface CountingClock {
  /** @param period - of the limit, in seconds: the shorter, the closer the table's time has to be known */
  read(period: number): Reading;
}

/** An instance whose clock is further than this from the table's counts nothing, in milliseconds: one of both tells nonsense. */
const maxErrorMs = 10_000;

/** The most that is needed for the first answer of a table, in milliseconds: a second, twice the tolerance of its date, and the round trip. */
const firstDoubtMs = 1_500;

/** How closely the table's time has to be known to count in windows of a period, in milliseconds. */
export const maxDoubtMs = (period: number): number => Math.min(bucketMs(period) / 2, firstDoubtMs);

/** How far an instance's own clock is trusted to be right if that is not known more closely, and no answer has shown that it is wrong. */
const trustedMs = (period: number): number => maxDoubtMs(period) / 4;

/** A clock that is known to be right. */
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
  `the clock of this instance is at least ${Math.ceil(errorMs)} ms from the table's; at most ${Math.floor(bearableMs)} ms can be borne`;
