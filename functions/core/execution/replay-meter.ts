import QuickLRU from 'quick-lru';
import type { RateLimit } from '../../../schemas/pat.ts';
import { addCall, bucketAt, emptyWindow, freeAtMs, rollTo, type Window } from '../limit/window.ts';
import { ApiError } from '../runtime/api-error.ts';

/** Number of replays allowed per call that the rate allows. */
const replaysForEachCall = 10;

/** Maximum number of accounts, and of idempotency keys, that an instance caches. */
const maxKeys = 10_000;

/**
 * Limits replays: each costs a read of up to 400 KB and uses no quota. They are counted in memory, so the limit applies per instance: a write for
 * each replay would cost as much as the limit saves.
 * @param now - milliseconds since the epoch
 */
export function openReplayMeter(now: () => number = Date.now) {
  const windows = new QuickLRU<string, Window>({ maxSize: maxKeys });
  const seen = new QuickLRU<string, true>({ maxSize: maxKeys });

  return {
    /** @param limit - rate limit of calls; the limit of replays is ten times its rate */
    of(account: string, { rate, period }: RateLimit) {
      const counter = `${account} ${period}`;
      const window = (): Window => {
        const bucket = bucketAt(now(), period);
        return rollTo(windows.get(counter) ?? emptyWindow(bucket), bucket);
      };
      return {
        /** The refusal if there have been too many replays. */
        findRefusal(): ApiError | undefined {
          const limit = { rate: rate * replaysForEachCall, period };
          if (window().total < limit.rate) return undefined;
          const seconds = Math.max(1, Math.ceil((freeAtMs(window(), limit) - now()) / 1000));
          return new ApiError(
            'TOO_MANY_REQUESTS',
            'You have repeated too many requests under used Idempotency-Keys. Keep the answers that you get; send this request again after Retry-After seconds.',
            { details: { reason: 'replays', limit, retry_after_seconds: seconds }, headers: { 'Retry-After': String(seconds) } },
          );
        },
        /** Whether this instance knows that the idempotency key has a stored answer. */
        knowsKey: (key: string): boolean => seen.has(`${account} ${key}`),
        rememberKey: (key: string): void => void seen.set(`${account} ${key}`, true, { maxAge: period * 1000 }),
        count: (): void => void windows.set(counter, addCall(window())),
      };
    },
  };
}

export type Replays = ReturnType<ReturnType<typeof openReplayMeter>['of']>;
