import type { RateLimit } from '../../../schemas/pat.ts';

/**
 * How many buckets a period is divided into. More buckets allow calls sooner after a burst, and leave less time from counting a call to making
 * it (see {@link callableUntilMs}). That time is a real budget: a deployment whose counting takes longer moves calls from bucket to bucket and
 * gives up on some, though it never allows too many.
 */
const bucketsPerPeriod = 20;

/** Buckets in which a call counts: the rest of its own, and those after it. */
export const liveBuckets = bucketsPerPeriod + 2;

/** Fraction of a bucket that is left for making a counted call. */
const madeWithinBuckets = 0.5;

/**
 * What still counts: each call from when it is counted for `liveBuckets - 1` to `liveBuckets` buckets, so for longer than `period`. A call
 * counts as one, or as what it costs in whole units. If `period` is `Infinity` there is one bucket, which lasts for ever.
 */
export interface Window {
  /** the newest bucket, counted from the epoch */
  bucket: number;
  /** what is counted in the live buckets; {@link slotOf} gives the place of each */
  counts: readonly number[];
  total: number;
}

/** Length of a bucket in milliseconds; `period` is in seconds. */
export const bucketMs = (period: number): number => (period * 1000) / bucketsPerPeriod;

/** The longest time that a call counts, in milliseconds. */
export const longestCountMs = (period: number): number => liveBuckets * bucketMs(period);

/** When the window is empty, in milliseconds since the epoch. */
export const clearAtMs = (window: Window, period: number): number => (window.bucket + liveBuckets) * bucketMs(period);

/** Time between counting a call and making it, in milliseconds; `period` is in seconds. */
export const madeWithinMs = (period: number): number => madeWithinBuckets * bucketMs(period);

/**
 * Until when a call that was counted into `bucket` may be made, in milliseconds since the epoch: made within {@link madeWithinMs} from
 * then, it still counts for `period`.
 */
export const callableUntilMs = (bucket: number, period: number): number =>
  (bucket + liveBuckets - bucketsPerPeriod - madeWithinBuckets) * bucketMs(period);

export const bucketAt = (timeMs: number, period: number): number => Math.floor(timeMs / bucketMs(period));

export const slotOf = (bucket: number): number => ((bucket % liveBuckets) + liveBuckets) % liveBuckets;

export const emptyWindow = (bucket: number): Window => ({ bucket, counts: new Array(liveBuckets).fill(0), total: 0 });

/** The window with `bucket` as its newest. It never goes back: a clock that is behind counts into the newest bucket. */
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

/** The window without a call counted into `bucket`, if that still counts. */
export function removeCall(window: Window, bucket: number, cost = 1): Window {
  if (!stillCounts(bucket, window.bucket)) return window;
  const counts = window.counts.map((count, slot) => (slot === slotOf(bucket) ? count - cost : count));
  return { ...window, counts, total: window.total - cost };
}

export const remainingCalls = ({ total }: Pick<Window, 'total'>, { rate }: RateLimit, cost = 1): number =>
  Math.max(0, Math.floor((rate - total) / cost));

/**
 * When `cost` will fit once more often than it does now, in milliseconds since the epoch; for a window that is used up, when it will be
 * allowed. If it cannot fit more often, the start of the newest bucket. It is `Infinity` if what is counted never ceases to count.
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
