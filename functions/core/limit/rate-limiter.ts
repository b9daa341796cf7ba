/**
 * Counts calls against limits, in one item for each owner, with one conditional write for each call: `consume` counts a call or refuses it, `renew`
 * counts it anew if it is made too late, `giveBack` returns money and totals if nothing was sent. `countInto` is the write and its retries, `window.ts`
 * the arithmetic, `counter-item.ts` the item. `execution/quota.ts` says when an execution does so.
 */
import { randomBytes } from 'node:crypto';
import QuickLRU from 'quick-lru';
import { unavailable } from '../api-error.ts';
import { type Charge, isRate, unitOf } from '../policy/limits.ts';
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
  /** number of calls that may be made now, of the most expensive kind */
  remaining: number;
  /** seconds until {@link remaining} grows: at least 1, `Infinity` if never */
  resetSeconds: number;
  /** seconds until a refused call of this kind is allowed; `Infinity` if never */
  retrySeconds: number;
}

export interface LimitDecision {
  isWithinLimits: boolean;
  /** in the order of the charges */
  states: LimitState[];
  /** where the call was counted, if it was */
  buckets?: Buckets;
}

/** Counters that an instance caches. */
const maxKnown = 10_000;

/**
 * The most windows of one item besides those of a call: a person has some for each client that has called for them lately. Their item grows by
 * about 100 bytes for each.
 */
const maxWindows = 200;

/** Attempts fail only if another call was counted in between, or if counting took too long. */
const [maxAttempts, maxCountingMs] = [5, 1_000];

/** Clients may call this much too early: timers fire early. */
const earlyAllowanceMs = 100;

/** How much longer clients wait than calls count: another instance may know the time less closely. */
export const slackMs = (period: number): number => earlyAllowanceMs + maxDoubtMs(period);

/** How long a used-up budget or count is believed: another instance may have returned some of it. */
const believedMs = 10_000;

const newToken = (): string => randomBytes(6).toString('base64url');

const isExceeded = ({ charge: { rate, cost }, used }: LimitState): boolean => used + cost > rate;

export const refusing = ({ states }: LimitDecision): LimitState[] => states.filter(isExceeded);

/*
 * Why no window of `period` of any limit holds more than `rate`. Buckets are those of `window.ts`; a call is worth what it costs. Time is
 * that of the table, which every reading of a clock bounds, whatever the clocks of the instances show; see `counting-clock.ts` for what that takes.
 *
 * 1. Every write is conditional on the state that it changes, so the item passes through one sequence of states. Each of them counts one
 *    call more in some windows, moves one that came too late to newer buckets, or gives back what a call took that is not made. None has a
 *    total above `rate` in a window that the write adds to.
 * 2. A call that was counted into bucket b is part of every later state of that window whose newest bucket is less than b + liveBuckets,
 *    unless it is not made.
 * 3. The newest bucket of a state has begun when that is written: whoever wrote it first took the bucket of the earliest time that it can
 *    have been.
 * 4. A call is counted, and renewed right before it is made, while even the latest time that it can be is not after callableUntilMs(b) of
 *    each of its windows, and made within madeWithinMs of the shortest, so in each of them at least one `period` before bucket
 *    b + liveBuckets begins.
 * 5. Take the calls of any window of `period`, and of these the one that was counted last. When it was made, the newest bucket of its state
 *    had begun (3), and none of the others was a `period` ago: by 4 they all still counted, by 2 they are in that state's total, and by 1
 *    that is at most `rate`.
 */

export type RateLimiter = ReturnType<typeof openRateLimiter>;

/** @param time - a clock, or the time of an exact one; default: {@link openCountingClock} */
export function openRateLimiter(table: Table, time: CountingClock | (() => number) = openCountingClock(table.clock)) {
  const clock = typeof time === 'function' ? openExactClock(time) : time;
  const counters = openCounterItems(table);
  const known = new QuickLRU<string, { item: CounterItem | undefined; atMs: number }>({ maxSize: maxKnown });

  /**
   * Counts one call in the windows of all its limits with one write, or refuses it and counts nothing. Of the calls that are made within
   * {@link madeWithinMs} (of the shortest period) after this or {@link renew}, what they take is never more than `rate` in any window of
   * `period` seconds of any limit, whatever the concurrency and however slow the table.
   * @throws ApiError SERVICE_UNAVAILABLE if the counter cannot be reached, or the time is not known well enough for the shortest period; what is
   * known to have been charged has been given back
   */
  const consume = async (request: LimitRequest): Promise<LimitDecision> => findRefusal(request) ?? count(request);

  /**
   * Makes sure, right before it is made, that a counted call still counts for a whole period: what has taken too long since it was counted is
   * counted in the newest windows instead, or refused if they have no room. Nothing is written if it is still in time.
   * @param counted - what {@link consume} returned, or this
   * @throws ApiError as {@link consume}: then `counted` says no more what has been counted
   */
  const renew = async (request: LimitRequest, counted: LimitDecision): Promise<LimitDecision> =>
    isInTime(request, counted.buckets) ? counted : count(request, counted.buckets);

  /** Whether a counted call may be made now. */
  const isInTime = ({ charges }: LimitRequest, buckets: Buckets = {}): boolean =>
    charges.every(({ id, period }) => readToCount(period).latestMs <= callableUntilMs(buckets[id] ?? 0, period));

  /** @param outdated - where a call is counted that was not made in time */
  async function count(request: LimitRequest, outdated?: Buckets): Promise<LimitDecision> {
    let charged = outdated;
    try {
      return await countInto(request, outdated, (buckets) => {
        charged = buckets;
      });
    } catch (error) {
      // the call is not made; what cannot be given back either stays charged
      await Promise.allSettled([giveBack(request, { buckets: charged })]);
      throw error;
    }
  }

  /**
   * Decides by the item as it is known, and writes it if nothing has changed; until the write has taken effect, or the call is refused. A call that
   * may not be made any more, because its write took too long, is counted anew.
   * @param firstOutdated - where the call is already counted, if it is
   * @param noteCharged - learns where the call is known to be counted; undefined during a write that may change it
   */
  async function countInto(
    request: LimitRequest,
    firstOutdated: Buckets | undefined,
    noteCharged: (buckets: Buckets | undefined) => void,
  ): Promise<LimitDecision> {
    const { charges } = request;
    let outdated = firstOutdated;
    const key = keyOf(request);
    let token = newToken();
    const startedMs = now();
    let item = await findItem(request);
    let wasOvertaken = false;
    for (let attempt = 0; ; attempt++) {
      for (const { period } of charges) readToCount(period);
      const windows = windowsWithout(outdated, item, charges);
      const windowOf = (charge: Charge) => windows.get(charge.id) ?? currentWindow(item, charge);
      const decision = decide(request, windowOf);
      if (!decision.isWithinLimits && outdated) {
        // it is not made: its rates stay counted, the rest is given back
        const left = decide(request, (charge) => (isRate(charge) ? currentWindow(item, charge) : windowOf(charge)));
        return { ...left, buckets: outdated };
      }
      if (!decision.isWithinLimits) return decision;
      // not before the decision: a limit that others have used up meanwhile is a refusal; a call that waits keeps an environment
      if (attempt === maxAttempts || (wasOvertaken && now() - startedMs > maxCountingMs)) {
        throw unavailable('The call could not be counted in time. Try again after Retry-After.');
      }
      const buckets: Buckets = Object.fromEntries(charges.map((charge) => [charge.id, windowOf(charge).bucket]));
      const needsNoNewBucket = charges.every(({ id }) => item?.windows[id]?.bucket === buckets[id]) && item?.last[0];
      const added = charges.map((charge): [string, CountedWindow] => {
        const window = windowOf(charge);
        return [charge.id, { ...window, ...addCall(window, charge.cost) }];
      });
      const next = nextItem(item, Object.fromEntries(added), token);
      noteCharged(undefined);
      const written = needsNoNewBucket
        ? await counters.count(key, { charges, buckets, token, movedFrom: outdated })
        : (await counters.replace(key, item, next)) && next;
      if (written) remember(request, written);
      // otherwise the item is read again; if another call of this instance has learnt more meanwhile, the read is saved
      const latest = recall(request);
      item = written || (latest !== item ? latest : await read(request));
      // the token also recognises a write that took effect and whose answer was lost
      const isCounted = item?.last.includes(token);
      wasOvertaken = !isCounted;
      noteCharged(isCounted ? buckets : outdated);
      if (!isCounted) continue;
      if (isInTime(request, buckets)) return { ...decideBy(request, item), isWithinLimits: true, buckets };
      outdated = buckets;
      token = newToken();
    }
  }

  /** The windows of a call's limits, by limit, without its own outdated count. */
  const windowsWithout = (outdated: Buckets | undefined, item: CounterItem | undefined, charges: readonly Charge[]) =>
    new Map(
      charges.map((charge): [string, CountedWindow] => {
        const window = currentWindow(item, charge);
        const bucket = outdated?.[charge.id];
        return [charge.id, bucket === undefined ? window : { ...window, ...removeCall(window, bucket, charge.cost) }];
      }),
    );

  /** The item with these windows, without windows that have expired. */
  function nextItem(item: CounterItem | undefined, windows: CounterItem['windows'], token: string): CounterItem {
    const isKept = ([id, window]: [string, CountedWindow]) =>
      id in windows || clearAtMs(window, window.period) + sweepDelaySeconds * 1000 > now();
    const others = Object.fromEntries(Object.entries(item?.windows ?? {}).filter(isKept));
    if (Object.keys(others).filter((id) => !(id in windows)).length > maxWindows) throw tooManyClients();
    return { windows: { ...others, ...windows }, last: [token, ...(item?.last ?? [])].slice(0, rememberedTokens) };
  }

  /**
   * Gives back the money and the counts that a call was charged, because nothing was sent; its rates stay counted. However many calls are counted
   * meanwhile, they do not keep it from doing so.
   * @param decision - the last one about the call
   * @throws ApiError SERVICE_UNAVAILABLE if the counter cannot be reached: what has not been given back stays charged
   */
  async function giveBack(request: LimitRequest, { buckets = {} }: { buckets?: Buckets | undefined }): Promise<void> {
    for (const charge of request.charges) {
      const bucket = buckets[charge.id];
      if (isRate(charge) || bucket === undefined) continue;
      const item = await counters.giveBack(keyOf(request), { charge, bucket, token: newToken() });
      if (item) remember(request, item);
    }
  }

  /**
   * What would be decided about a call, without counting it: by what this instance knows of the counter, which one read tells if it knows nothing
   * or would refuse the call.
   */
  const peek = async (request: LimitRequest): Promise<LimitDecision> => findRefusal(request) ?? decideBy(request, await findItem(request));

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

  /** The cached counter; it is read if there is none, or if it would refuse a call that may be possible again. */
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
    decide(request, (charge) => currentWindow(item, charge));

  function decide({ charges }: LimitRequest, windowOf: (charge: Charge) => CountedWindow): LimitDecision {
    const states = charges.map((charge) => stateOf(windowOf(charge), charge));
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

  const currentWindow = (item: CounterItem | undefined, charge: Charge): CountedWindow => {
    const { id, period } = charge;
    const bucket = bucketAt(clock.read(period).earliestMs, period);
    const window = item?.windows[id];
    return { ...(window ? rollTo(window, bucket) : emptyWindow(bucket)), period, digits: digitsOf(charge) };
  };

  /** @throws ApiError SERVICE_UNAVAILABLE if the time is too uncertain to count by */
  function readToCount(period: number): Reading {
    const reading = clock.read(period);
    if (reading.doubt === undefined) return reading;
    const message = 'The clock of the gate is not accurate enough to count the call. Try again after Retry-After.';
    throw unavailable(message, new WrongClock(reading.doubt));
  }

  /** For estimates. */
  const now = (): number => clock.read(Number.POSITIVE_INFINITY).earliestMs;

  return { consume, renew, inspect, findRefusal, peek, giveBack };
}

const keyOf = ({ owner, counter }: LimitRequest) => keys.limit(owner, counter);

const idOf = ({ owner, counter }: LimitRequest): string => `${owner} ${counter}`;
