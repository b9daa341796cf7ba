import QuickLRU from 'quick-lru';
import type { RateLimit } from '../../../schemas/pat.ts';
import { ApiError, unavailable } from '../api-error.ts';
import { keys } from '../store/keys.ts';
import type { Table } from '../store/table.ts';
import { newUlid } from '../ulid.ts';
import { type CounterItem, openCounterItems } from './counter-item.ts';
import {
  addCall,
  bucketAt,
  callableUntilMs,
  emptyWindow,
  freeAtMs,
  longestCountMs,
  remainingCalls,
  removeCall,
  rollTo,
  type Window,
} from './window.ts';

export interface LimitRequest {
  /** RFC 7638 thumbprint of the agent's key: quota belongs to a key, never to a token or a name */
  thumbprint: string;
  /** what is counted, for example `execute`: it stands in the headers of the answer */
  name: string;
  /** what makes it another counter of that name, for example the digest of the policy */
  variant?: string;
  limit: RateLimit;
}

export interface LimitDecision {
  name: string;
  isAdmitted: boolean;
  limit: RateLimit;
  /** calls that may be made at once */
  remaining: number;
  /** after how many seconds more calls will be free than {@link remaining}; at least 1 */
  resetSeconds: number;
}

export interface RateLimiter {
  /**
   * Counts one call, or refuses it. Of the calls that are made within {@link madeWithinMs} after their admission, there are never more than
   * `rate` in any window of `period` seconds, whatever the concurrency and however slow the table.
   * @throws ApiError SERVICE_UNAVAILABLE if the counter cannot be reached
   */
  consume(request: LimitRequest): Promise<LimitDecision>;
  /** What may still be called, without counting a call; one read. */
  inspect(request: LimitRequest): Promise<LimitDecision>;
  /** The refusal if this instance already knows that the rate is used up; does not read the table. */
  findRefusal(request: LimitRequest): LimitDecision | undefined;
}

/** Counters whose last known state an instance keeps in memory. */
const maxKnown = 10_000;

/** An attempt fails only if another call was counted in between, or if counting took longer than a call may wait. */
const maxAttempts = 5;

/** How much too early clients may call without being refused: clocks differ, and timers fire early. */
const earlyAllowanceMs = 100;

/** @param now - milliseconds since the epoch */
export function openRateLimiter(table: Table, now: () => number = Date.now): RateLimiter {
  const counters = openCounterItems(table);
  const known = new QuickLRU<string, CounterItem>({ maxSize: maxKnown });

  /** The item's window as of now. */
  const current = (item: CounterItem | undefined, period: number): Window => {
    const bucket = bucketAt(now(), period);
    return item ? rollTo(item, bucket) : emptyWindow(bucket);
  };
  const decide = (isAdmitted: boolean, window: Window, { name, limit }: LimitRequest): LimitDecision => ({
    name,
    isAdmitted,
    limit,
    remaining: remainingCalls(window, limit),
    resetSeconds: Math.max(1, Math.ceil((freeAtMs(window, limit) + earlyAllowanceMs - now()) / 1000)),
  });

  function findRefusal(request: LimitRequest): LimitDecision | undefined {
    const item = known.get(idOf(request));
    const window = item && current(item, request.limit.period);
    return window && window.total >= request.limit.rate ? decide(false, window, request) : undefined;
  }

  async function read(request: LimitRequest): Promise<CounterItem | undefined> {
    const item = await counters.find(keyOf(request));
    if (item) known.set(idOf(request), item);
    else known.delete(idOf(request));
    return item;
  }

  async function inspect(request: LimitRequest): Promise<LimitDecision> {
    const window = current(await read(request), request.limit.period);
    return decide(window.total < request.limit.rate, window, request);
  }

  /*
   * Why no window of `period` holds more than `rate` calls. Buckets are those of `window.ts`.
   *
   * 1. Every write is conditional on the state that it changes, so the item passes through one sequence of states. Each of them counts one
   *    call more, or moves one that came too late to a newer bucket, and none has a total above `rate`.
   * 2. A call that was counted into bucket b is part of every later state whose newest bucket is less than b + liveBuckets.
   * 3. It is admitted by callableUntilMs(b) and made within madeWithinMs, so at least one `period` before bucket b + liveBuckets begins.
   * 4. Take the calls of any window of `period`, and of these the one that was counted last. When it was made, the newest bucket of its state
   *    had begun, and none of the others was a `period` ago: by 3 they all still counted, by 2 they are in that state's total, and by 1
   *    that is at most `rate`.
   *
   * If two clocks differ, their difference is taken from the time that 3 leaves for making a call.
   */
  async function consume(request: LimitRequest): Promise<LimitDecision> {
    const { rate, period } = request.limit;
    const key = keyOf(request);
    const token = newUlid();
    /** the bucket that this call has been counted into, if it could not be made in time */
    let late: number | undefined;
    let item = known.get(idOf(request)) ?? (await read(request));
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      let window = current(item, period);
      if (late !== undefined) window = removeCall(window, late);
      if (window.total >= rate) return decide(false, window, request);
      const next = { ...addCall(window), last: token };
      const isNewest = late === undefined && item?.bucket === window.bucket;
      const written = isNewest
        ? await counters.count(key, { bucket: window.bucket, rate, token })
        : (await counters.replace(key, item, next, period)) && next;
      if (written) known.set(idOf(request), written);
      // if another call of this instance has learnt more meanwhile, the read is saved
      const latest = known.get(idOf(request));
      item = written || (latest !== item ? latest : await read(request));
      // the token also recognises a write that took effect and whose answer was lost
      if (item?.last !== token) continue;
      if (now() <= callableUntilMs(item.bucket, period)) return decide(true, item, request);
      late = item.bucket;
    }
    throw unavailable('The call could not be counted in time. Try again after Retry-After.');
  }

  return { consume, inspect, findRefusal };
}

/** The period is part of a counter's name in the table: buckets of another length are another counter. */
const counterOf = ({ name, variant, limit }: LimitRequest): string =>
  `${variant === undefined ? name : `${name}#${variant}`}/${limit.period}`;

const keyOf = (request: LimitRequest) => keys.limit(request.thumbprint, counterOf(request));

const idOf = (request: LimitRequest): string => `${request.thumbprint} ${counterOf(request)}`;

/**
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11). The window is the longest that a call counts, rounded up:
 * a client that makes at most `q` calls in any `w` seconds, or at most `r` within `t` seconds and then asks again, is never refused.
 */
export function rateLimitHeaders({ name, limit, remaining, resetSeconds }: LimitDecision): Record<string, string> {
  const windowSeconds = Math.ceil((longestCountMs(limit.period) + earlyAllowanceMs) / 1000);
  return {
    'RateLimit-Policy': `"${name}";q=${limit.rate};w=${windowSeconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  };
}

/** 429 with `Retry-After` and the headers of {@link rateLimitHeaders}. */
export const limitExceeded = (
  decision: LimitDecision,
  message = 'The rate limit is used up. Send the request again after Retry-After seconds; RateLimit-Policy says how many calls fit into how many seconds.',
): ApiError =>
  new ApiError('TOO_MANY_REQUESTS', message, {
    details: { limit: decision.limit, retry_after_seconds: decision.resetSeconds },
    headers: { ...rateLimitHeaders(decision), 'Retry-After': String(decision.resetSeconds) },
  });
