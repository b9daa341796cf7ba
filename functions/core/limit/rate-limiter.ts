/**
 * Counts calls against limits: one item per owner, one conditional write per call. `consume` counts a call or refuses it, `renew` counts it again if
 * too much time has passed before it is sent, `giveBack` refunds budgets and totals if nothing was sent. `count` does the write and its retries,
 * `window.ts` the arithmetic, `counter-item.ts` the storage. `execution/quota.ts` calls this module.
 */
import { randomBytes } from 'node:crypto';
import QuickLRU from 'quick-lru';
import { type Charge, isRate, unitOf } from '../policy/limits.ts';
import { unavailable } from '../runtime/api-error.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import {
  type Buckets,
  type CountedWindow,
  type CounterItem,
  digitsOf,
  openCounterItems,
  rememberedTokens,
  sweepDelaySeconds,
  tooManyClients,
} from './counter-item.ts';
import { type CountingClock, maxDoubtMs, openCountingClock, openExactClock, type Reading, WrongClock } from './counting-clock.ts';
import type { LimitRequest } from './limit-request.ts';
import { addCall, bucketAt, callableUntilMs, clearAtMs, emptyWindow, freeAtMs, remainingCalls, removeCall, rollTo } from './window.ts';

export interface LimitState {
  charge: Charge;
  used: number;
  /** number of calls of the most expensive kind that may be made now */
  remaining: number;
  /** seconds until {@link remaining} grows, at least 1; `Infinity` if never */
  resetSeconds: number;
  /** seconds until a refused call of this kind is allowed; `Infinity` if never */
  retrySeconds: number;
}

export interface LimitDecision {
  isWithinLimits: boolean;
  /** in the order of the request's charges */
  states: LimitState[];
  /** where the call is counted; absent if it is not */
  buckets?: Buckets;
  /** whether it is from memory, so that other instances may have counted since */
  isRemembered?: boolean;
}

/** Maximum number of counters that an instance caches. */
const maxKnown = 10_000;

/** Maximum number of windows of one item besides those of the current call: a person has a few per recent client, of about 100 bytes each. */
const maxWindows = 200;

/** An attempt fails only if a concurrent call was counted first, or if the write took too long. */
const [maxAttempts, maxCountingMs] = [5, 1_000];

/** Tolerance for clients whose timers fire early, in milliseconds. */
const earlyAllowanceMs = 100;

/** Added to the time that clients must wait, in milliseconds, because another instance may know the time less precisely. */
export const slackMs = (period: number): number => earlyAllowanceMs + maxDoubtMs(period);

/** How long a used-up budget or total is cached, in milliseconds: another instance may refund some of it. */
const believedMs = 10_000;

const newToken = (): string => randomBytes(6).toString('base64url');

const isExceeded = ({ charge: { rate, cost }, used }: LimitState): boolean => used + cost > rate;

export const refusing = ({ states }: LimitDecision): LimitState[] => states.filter(isExceeded);

/*
 * Proof that no limit admits more than `rate` in any interval of length `period`. Windows and buckets are those of `window.ts`; a call weighs
 * its cost. Time is the table's time: every clock reading bounds it, whatever the instances' clocks show (see `counting-clock.ts`).
 *
 * 1. Every write is conditional on the state that it changes, so the item passes through one sequence of states. Each write counts one more
 *    call in some windows, moves a late call to newer buckets, or refunds a call that is not sent. No write leaves a total above `rate` in a
 *    window that it adds to.
 * 2. A call that was counted into bucket b is part of every later state of that window whose newest bucket is less than b + liveBuckets,
 *    unless the call is not sent.
 * 3. When a state is written, its newest bucket has begun: the first writer of that bucket used the earliest possible time of its clock
 *    reading.
 * 4. A call is admitted (counted, or renewed right before it is sent) only if the latest possible time is at most callableUntilMs(b) for each
 *    of its windows. It is sent within madeWithinMs of the shortest period, which is at least one `period` before bucket b + liveBuckets begins.
 * 5. Take all calls sent in any interval of length `period`, and the last of them to be counted. When it was sent, the newest bucket of its
 *    state had begun (3), and each of the others had been sent less than a `period` before. So all of them still counted (4) and are in that
 *    state's total (2), which is at most `rate` (1).
 */

export type RateLimiter = ReturnType<typeof openRateLimiter>;

/** @param time - a clock, or the time of an exact one; default: {@link openCountingClock} */
export function openRateLimiter(table: Table, time: CountingClock | (() => number) = openCountingClock(table.clock)) {
  const clock = typeof time === 'function' ? openExactClock(time) : time;
  const counters = openCounterItems(table);
  const known = new QuickLRU<string, { item: CounterItem | undefined; atMs: number }>({ maxSize: maxKnown });

  /**
   * Counts one call in the windows of all its limits with one write, or refuses it and counts nothing. Calls must be sent within
   * {@link madeWithinMs} (of the shortest period) after this or {@link renew}; their total cost then never exceeds `rate` in any `period` seconds of
   * any limit, whatever the concurrency and however slow the table.
   * @throws ApiError SERVICE_UNAVAILABLE if the counter cannot be reached, or the time is not known precisely enough for the shortest period;
   * everything known to have been charged is refunded first
   */
  const consume = async (request: LimitRequest): Promise<LimitDecision> => findRefusal(request) ?? count(request);

  /**
   * Makes sure, right before a call is sent, that it will still count for a whole period. If too much time has passed, moves the call to the newest
   * buckets, or refuses it if they are full; otherwise writes nothing.
   * @param counted - the decision of {@link consume} or of the last renewal
   * @throws ApiError as {@link consume}; `counted` is then out of date
   */
  const renew = async (request: LimitRequest, counted: LimitDecision): Promise<LimitDecision> =>
    isInTime(request, counted.buckets) ? counted : count(request, counted.buckets);

  /** Whether a counted call may be sent now. */
  const isInTime = ({ charges }: LimitRequest, buckets: Buckets = {}): boolean =>
    charges.every(({ id, period }) => readToCount(period).latestMs <= callableUntilMs(buckets[id] ?? 0, period));

  /**
   * Decides by the cached item and writes it if it has not changed, until the write takes effect or the call is refused. If the write took too
   * long, the call is counted again.
   * @param outdated - where the call has already been counted, if it was not sent in time
   */
  async function count(request: LimitRequest, outdated?: Buckets): Promise<LimitDecision> {
    const { charges } = request;
    const key = keyOf(request);
    const startedMs = now();
    let token = newToken();
    let wasOvertaken = false;
    let countedIn = outdated;
    /** while a write is under way, and after it failed, it is unknown where the call is counted */
    let isUnknown = false;
    try {
      let item = await findItem(request);
      for (let attempt = 0; ; attempt++) {
        for (const { period } of charges) readToCount(period);
        const current = charges.map((charge) => ({ charge, window: currentWindow(item, charge, countedIn) }));
        const decision = decide(current);
        if (!decision.isWithinLimits && countedIn) {
          // the call is not sent: its rates stay counted, the caller refunds the rest
          const left = current.map(({ charge, window }) => ({ charge, window: isRate(charge) ? currentWindow(item, charge) : window }));
          return { ...decide(left), buckets: countedIn };
        }
        if (!decision.isWithinLimits) return decision;
        // Checked after the decision, so that a limit used up by others is a refusal, not an error. Bounded, because a waiting call occupies an
        // environment.
        if (attempt === maxAttempts || (wasOvertaken && now() - startedMs > maxCountingMs)) {
          throw unavailable('The call could not be counted in time. Try again after Retry-After.');
        }
        const buckets: Buckets = Object.fromEntries(current.map(({ charge, window }) => [charge.id, window.bucket]));
        const needsNoNewBucket = charges.every(({ id }) => item?.windows[id]?.bucket === buckets[id]) && item?.last[0];
        const added = current.map(({ charge, window }) => [charge.id, { ...window, ...addCall(window, charge.cost) }] as const);
        const next = nextItem(item, Object.fromEntries(added), token);
        isUnknown = true;
        const written = needsNoNewBucket
          ? await counters.count(key, { charges, buckets, token, movedFrom: countedIn })
          : (await counters.replace(key, item, next)) && next;
        if (written) remember(request, written);
        // otherwise the item is read again, unless another call of this instance has updated the cache meanwhile
        const latest = recall(request);
        item = written || (latest !== item ? latest : await read(request));
        isUnknown = false;
        // the token also recognises a write that took effect but whose response was lost
        const isCounted = item?.last.includes(token);
        wasOvertaken = !isCounted;
        if (!isCounted) continue;
        countedIn = buckets;
        if (isInTime(request, buckets)) return { ...decideBy(request, item), isWithinLimits: true, buckets };
        token = newToken();
      }
    } catch (error) {
      // the call is not sent; a charge that cannot be refunded either remains
      if (!isUnknown) await Promise.allSettled([giveBack(request, { buckets: countedIn })]);
      throw error;
    }
  }

  /** The item with these windows added and expired windows removed. */
  function nextItem(item: CounterItem | undefined, windows: CounterItem['windows'], token: string): CounterItem {
    const isKept = ([id, window]: [string, CountedWindow]) =>
      id in windows || clearAtMs(window, window.period) + sweepDelaySeconds * 1000 > now();
    const others = Object.fromEntries(Object.entries(item?.windows ?? {}).filter(isKept));
    if (Object.keys(others).filter((id) => !(id in windows)).length > maxWindows) throw tooManyClients();
    return { windows: { ...others, ...windows }, last: [token, ...(item?.last ?? [])].slice(0, rememberedTokens) };
  }

  /**
   * Refunds the budgets and totals that a call was charged, because nothing was sent; its rates stay counted. Concurrent calls cannot make the
   * refund fail.
   * @param decision - the last decision about the call
   * @throws ApiError SERVICE_UNAVAILABLE if the counter cannot be reached; charges that have not been refunded remain
   */
  async function giveBack(request: LimitRequest, { buckets = {} }: { buckets?: Buckets | undefined }): Promise<void> {
    for (const charge of request.charges) {
      const bucket = buckets[charge.id];
      if (isRate(charge) || bucket === undefined) continue;
      const item = await counters.giveBack(keyOf(request), { charge, bucket, token: newToken() });
      if (item) remember(request, item);
    }
  }

  /** Decides about a call without counting it, by the cached counter; reads the counter if it is not cached or would refuse the call. */
  const peek = async (request: LimitRequest): Promise<LimitDecision> => {
    const before = known.get(idOf(request));
    const decision = findRefusal(request) ?? decideBy(request, await findItem(request));
    return { ...decision, isRemembered: before !== undefined && before === known.get(idOf(request)) };
  };

  /** The remaining quota; one read. */
  const inspect = async (request: LimitRequest): Promise<LimitDecision> => decideBy(request, await read(request));

  /** The refusal if this instance already knows that a limit is used up; reads nothing. */
  function findRefusal(request: LimitRequest): LimitDecision | undefined {
    const state = known.get(idOf(request));
    if (!state) return undefined;
    const decision = decideBy(request, state.item);
    const isOld = now() - state.atMs > believedMs;
    return refusing(decision).some(({ charge }) => !isOld || isRate(charge)) ? decision : undefined;
  }

  /** The cached counter, or a new read if it is not cached or would refuse the call. */
  async function findItem(request: LimitRequest): Promise<CounterItem | undefined> {
    const state = known.get(idOf(request));
    const isWithinLimits = state && decideBy(request, state.item).isWithinLimits;
    return isWithinLimits ? state.item : read(request);
  }

  async function read(request: LimitRequest): Promise<CounterItem | undefined> {
    const item = await counters.find(keyOf(request));
    remember(request, item);
    return item;
  }

  const recall = (request: LimitRequest): CounterItem | undefined => known.get(idOf(request))?.item;
  const remember = (request: LimitRequest, item: CounterItem | undefined): void => void known.set(idOf(request), { item, atMs: now() });

  const decideBy = (request: LimitRequest, item: CounterItem | undefined): LimitDecision =>
    decide(request.charges.map((charge) => ({ charge, window: currentWindow(item, charge) })));

  function decide(current: readonly { charge: Charge; window: CountedWindow }[]): LimitDecision {
    const states = current.map(({ charge, window }) => stateOf(window, charge));
    return { isWithinLimits: !states.some(isExceeded), states };
  }

  const stateOf = (window: CountedWindow, charge: Charge): LimitState => {
    const secondsUntilFree = (cost: number): number => {
      const waitMs = freeAtMs(window, charge, cost) - clock.read(charge.period).earliestMs;
      return waitMs > 0 ? Math.ceil((waitMs + slackMs(charge.period)) / 1000) : 1;
    };
    const unit = unitOf(charge);
    return {
      charge,
      used: window.total,
      remaining: remainingCalls(window, charge, unit),
      resetSeconds: secondsUntilFree(unit),
      retrySeconds: secondsUntilFree(charge.cost),
    };
  };

  /** The window of a limit now, without a call that is counted in `outdated`. */
  function currentWindow(item: CounterItem | undefined, charge: Charge, outdated: Buckets = {}): CountedWindow {
    const { id, period, cost } = charge;
    const newest = bucketAt(clock.read(period).earliestMs, period);
    const counted = item?.windows[id];
    const window = counted ? rollTo(counted, newest) : emptyWindow(newest);
    const bucket = outdated[id];
    return { ...(bucket === undefined ? window : removeCall(window, bucket, cost)), period, digits: digitsOf(charge) };
  }

  /** @throws ApiError SERVICE_UNAVAILABLE if the time is too uncertain for this period */
  function readToCount(period: number): Reading {
    const reading = clock.read(period);
    if (reading.doubt === undefined) return reading;
    const message = 'The clock of the gate is not accurate enough to count the call. Try again after Retry-After.';
    throw unavailable(message, new WrongClock(reading.doubt));
  }

  /** Milliseconds since the epoch; for estimates only. */
  const now = (): number => clock.read(Number.POSITIVE_INFINITY).earliestMs;

  return { consume, renew, inspect, findRefusal, peek, giveBack };
}

const keyOf = ({ owner, counter }: LimitRequest) => keys.limit(owner, counter);

const idOf = ({ owner, counter }: LimitRequest): string => `${owner} ${counter}`;
