import type { RateLimit } from '../../../schemas/pat.ts';

/**
 * Number of buckets per period. With more buckets, calls stop counting sooner after a burst, but must also be sent sooner after they have been
 * counted (see {@link callableUntilMs}). A call that is late is counted again or refused, so the limit is never exceeded.
 */
const bucketsPerPeriod = 20;

/** Number of buckets in which a call counts: its own and those after it. */
export const liveBuckets = bucketsPerPeriod + 2;

/** Time within which an admitted call must be sent, in buckets. */
const madeWithinBuckets = 0.5;

/**
 * A sliding window in buckets. Each call counts for `liveBuckets - 1` to `liveBuckets` buckets, which is longer than `period`. It counts as
 * one, or as its cost in whole units. If `period` is `Infinity`, there is one bucket, which never ends.
 */
export interface Window {
  /** number of the newest bucket since the epoch */
  bucket: number;
  /** one count per live bucket, at the index that {@link slotOf} returns */
  counts: readonly number[];
  total: number;
}

/** Length of a bucket in milliseconds; `period` is in seconds. */
export const bucketMs = (period: number): number => (period * 1000) / bucketsPerPeriod;

/** Longest time that a call counts, in milliseconds; `period` is in seconds. */
export const longestCountMs = (period: number): number => liveBuckets * bucketMs(period);

/** When all calls of the window have expired, in milliseconds since the epoch. */
export const clearAtMs = (window: Window, period: number): number => (window.bucket + liveBuckets) * bucketMs(period);

/** Time within which an admitted call must be sent, in milliseconds; `period` is in seconds. */
export const madeWithinMs = (period: number): number => madeWithinBuckets * bucketMs(period);

/**
 * Deadline for admitting a call that was counted into `bucket`, in milliseconds since the epoch. If the call is sent within
 * {@link madeWithinMs} of the deadline, it still counts for a whole `period`.
 */
export const callableUntilMs = (bucket: number, period: number): number =>
  (bucket + liveBuckets - bucketsPerPeriod - madeWithinBuckets) * bucketMs(period);

export const bucketAt = (timeMs: number, period: number): number => Math.floor(timeMs / bucketMs(period));

export const slotOf = (bucket: number): number => ((bucket % liveBuckets) + liveBuckets) % liveBuckets;

export const emptyWindow = (bucket: number): Window => ({ bucket, counts: new Array(liveBuckets).fill(0), total: 0 });

/** Advances the window to `bucket`. It never goes back: a clock that is behind counts into the newest bucket. */
export function rollTo(window: Window, bucket: number): Window {
  if (bucket <= window.bucket) return window;
  const counts = [...window.counts];
  const firstStale = Math.max(window.bucket + 1, bucket - liveBuckets + 1);
  for (let stale = firstStale; stale <= bucket; stale++) counts[slotOf(stale)] = 0;
  return { bucket, counts, total: counts.reduce((sum, count) => sum + count, 0) };
}

export function addCall({ bucket, counts, total }: Window, cost = 1): Window {
  return { bucket, counts: counts.map((count, slot) => (slot === slotOf(bucket) ? count + cost : count)), total: total + cost };
}

/** Whether a call counted into `bucket` still counts. */
export const stillCounts = (bucket: number, newest: number): boolean => bucket > newest - liveBuckets;

/** Removes a call that was counted into `bucket`, if it still counts. */
export function removeCall(window: Window, bucket: number, cost = 1): Window {
  if (!stillCounts(bucket, window.bucket)) return window;
  const counts = window.counts.map((count, slot) => (slot === slotOf(bucket) ? count - cost : count));
  return { ...window, counts, total: window.total - cost };
}

export const remainingCalls = ({ total }: Pick<Window, 'total'>, { rate }: RateLimit, cost = 1): number =>
  Math.max(0, Math.floor((rate - total) / cost));

/**
 * When one more call of this `cost` will fit than now, in milliseconds since the epoch. Returns the start of the newest bucket if the
 * maximum already fits, and `Infinity` if no more will ever fit.
 */
export function freeAtMs(window: Window, { rate, period }: RateLimit, cost = 1): number {
  if (!Number.isFinite(period)) return Infinity;
  const startMs = window.bucket * bucketMs(period);
  const remaining = remainingCalls(window, { rate, period }, cost);
  const most = rate - (remaining + 1) * cost;
  if (most < 0) return remaining > 0 ? startMs : Infinity;
  let left = window.total;
  for (let bucket = window.bucket - liveBuckets + 1; bucket <= window.bucket; bucket++) {
    const count = window.counts[slotOf(bucket)] ?? 0;
    left -= count;
    if (count > 0 && left <= most) return clearAtMs({ ...window, bucket }, period);
  }
  return startMs;
}
