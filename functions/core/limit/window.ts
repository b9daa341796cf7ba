import type { RateLimit } from '../../../schemas/pat.ts';

/** A period is ten buckets; a call counts in its own bucket and in the ten after it. */
const bucketsPerPeriod = 10;
const liveBuckets = bucketsPerPeriod + 1;

/**
 * The calls that still count. A call counts until its bucket is the eleventh back: for longer than `period` and for at most
 * 1.1 x `period`. So no window of `period` seconds ever holds more than `rate` calls, and a call is only refused where more than
 * `rate` would have been admitted in the last 1.1 x `period`.
 */
export interface Window {
  /** the newest bucket, counted from the epoch */
  bucket: number;
  /** calls of the live buckets; bucket b is at index b modulo 11 */
  counts: readonly number[];
  /** sum of the counts */
  total: number;
}

/** Length of a bucket in milliseconds; `period` is in seconds. */
const bucketMs = (period: number): number => (period * 1000) / bucketsPerPeriod;

/** The longest that a call counts, in milliseconds. */
export const longestCountMs = (period: number): number => liveBuckets * bucketMs(period);

/** When none of the window's calls counts any more, in milliseconds since the epoch. */
export const clearAtMs = (window: Window, period: number): number => (window.bucket + liveBuckets) * bucketMs(period);

/** The bucket of a moment in milliseconds since the epoch. */
export const bucketAt = (timeMs: number, period: number): number => Math.floor(timeMs / bucketMs(period));

/** Where a bucket's count stands in {@link Window.counts}. */
export const slotOf = (bucket: number): number => ((bucket % liveBuckets) + liveBuckets) % liveBuckets;

/** A window without calls. */
export const emptyWindow = (bucket: number): Window => ({ bucket, counts: new Array(liveBuckets).fill(0), total: 0 });

/** The window once `bucket` is the newest one. It never goes back: a clock that is behind counts into the newest bucket. */
export function rollTo(window: Window, bucket: number): Window {
  if (bucket <= window.bucket) return window;
  const counts = [...window.counts];
  const firstStale = Math.max(window.bucket + 1, bucket - bucketsPerPeriod);
  for (let stale = firstStale; stale <= bucket; stale++) counts[slotOf(stale)] = 0;
  return { bucket, counts, total: counts.reduce((sum, count) => sum + count, 0) };
}

/** The window with one more call in its newest bucket. */
export function addCall({ bucket, counts, total }: Window): Window {
  return { bucket, counts: counts.map((count, slot) => (slot === slotOf(bucket) ? count + 1 : count)), total: total + 1 };
}

/** Calls that may still be made at once. */
export const remainingCalls = (window: Window, { rate }: RateLimit): number => Math.max(0, rate - window.total);

/**
 * When more calls will be free than are now, in milliseconds since the epoch; for a window that is used up, when the next call will be
 * admitted. For a window without calls, the start of its newest bucket.
 */
export function freeAtMs(window: Window, { rate, period }: RateLimit): number {
  let left = window.total;
  for (let bucket = window.bucket - bucketsPerPeriod; bucket <= window.bucket; bucket++) {
    const count = window.counts[slotOf(bucket)] ?? 0;
    left -= count;
    if (count > 0 && left < rate) return clearAtMs({ ...window, bucket }, period);
  }
  return window.bucket * bucketMs(period);
}
