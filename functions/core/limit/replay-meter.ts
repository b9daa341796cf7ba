import QuickLRU from 'quick-lru';
import type { RateLimit } from '../../../schemas/pat.ts';
import { ApiError } from '../api-error.ts';
import { addCall, bucketAt, emptyWindow, freeAtMs, rollTo, type Window } from './window.ts';

/** Stored answers that a key may be given for each call of its rate. */
const replaysForEachCall = 10;

/** Agents' keys whose replays, and idempotency keys whose records an instance remembers. */
const maxKeys = 10_000;

/** Counts the stored answers that keys are given: each costs a read of up to 400 KB, and no quota. */
export interface ReplayMeter {
  /** The refusal of a replay, if the key has had too many. */
  findRefusal(counter: ReplayCounter): ApiError | undefined;
  count(counter: ReplayCounter): void;
  /** Whether {@link see} was told of the idempotency key within the last period. */
  hasSeen(thumbprint: string, key: string): boolean;
  /** Remembers that the idempotency key has a record. */
  see(counter: ReplayCounter, key: string): void;
}

export interface ReplayCounter {
  thumbprint: string;
  /** of calls */
  limit: RateLimit;
}

/**
 * Counts in memory, because a write for each replay would cost as much as it is to save: the bound holds for each instance of the function.
 * @param now - milliseconds since the epoch
 */
export function openReplayMeter(now: () => number = Date.now): ReplayMeter {
  const windows = new QuickLRU<string, Window>({ maxSize: maxKeys });
  const seen = new QuickLRU<string, true>({ maxSize: maxKeys });
  const windowOf = ({ thumbprint, limit: { period } }: ReplayCounter): Window => {
    const bucket = bucketAt(now(), period);
    return rollTo(windows.get(`${thumbprint} ${period}`) ?? emptyWindow(bucket), bucket);
  };

  return {
    findRefusal: (counter) => {
      const window = windowOf(counter);
      const limit = { ...counter.limit, rate: counter.limit.rate * replaysForEachCall };
      if (window.total < limit.rate) return undefined;
      const seconds = Math.max(1, Math.ceil((freeAtMs(window, limit) - now()) / 1000));
      return new ApiError(
        'TOO_MANY_REQUESTS',
        'Stored answers have been asked for too often. Keep the answers that you get; send this request again after Retry-After seconds.',
        { details: { reason: 'replays', limit, retry_after_seconds: seconds }, headers: { 'Retry-After': String(seconds) } },
      );
    },
    hasSeen: (thumbprint, key) => seen.has(`${thumbprint} ${key}`),
    see: ({ thumbprint, limit: { period } }, key) => void seen.set(`${thumbprint} ${key}`, true, { maxAge: period * 1000 }),
    count: (counter) => void windows.set(`${counter.thumbprint} ${counter.limit.period}`, addCall(windowOf(counter))),
  };
}
