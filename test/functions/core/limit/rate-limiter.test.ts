import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openCounterItems } from '../../../../functions/core/limit/counter-item.ts';
import { limitExceeded, rateLimitHeaders } from '../../../../functions/core/limit/limit-answers.ts';
import { countCalls } from '../../../../functions/core/limit/limit-request.ts';
import { openRateLimiter, slackMs } from '../../../../functions/core/limit/rate-limiter.ts';
import { bucketMs, callableUntilMs, longestCountMs } from '../../../../functions/core/limit/window.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import type { Table } from '../../../../functions/core/table/table.ts';
import type { RateLimit } from '../../../../schemas/pat.ts';
import { seededRandom } from '../../../support/random.ts';
import { startTable } from '../../../support/table.ts';

/** How long a call counts against a limit of a minute, and the slightly longer time that clients are told. */
const minuteMs = longestCountMs(60);
const minuteSeconds = Math.ceil((minuteMs + slackMs(60)) / 1000);

/** A time at which a bucket of every period used here begins. */
const startMs = Date.UTC(2026, 0, 1);
const store = await startTable();
let nowMs: number;
const now = () => nowMs;
let agents = 0;

afterAll(() => store.stop());
beforeEach(() => {
  nowMs = startMs;
  store.operations.length = 0;
});

const requestOf = (limit: RateLimit) => countCalls(`agent-${++agents}`, 'execute', limit);
/** A counter's item, with its only window. */
const itemOf = async ({ owner, counter, charges: [{ id }] }: ReturnType<typeof requestOf>) => {
  const key = keys.limit(owner, counter);
  return { ...(await store.table.get(key)), ...(await openCounterItems(store.table).find(key))?.windows[id] };
};

const decision = (isWithinLimits: boolean, remaining: number, resetSeconds: number) => ({
  isWithinLimits,
  states: [{ remaining, resetSeconds }],
});

describe('round trips', () => {
  test('a call takes one write, even at the end of a bucket', async () => {
    const counter = openRateLimiter(store.table, now);
    const request = requestOf({ rate: 60, period: 60 });
    const admitted: unknown[] = [];
    for (const afterMs of [0, 0, 1_000, 5_000, 0, minuteMs]) {
      nowMs += afterMs;
      admitted.push(await counter.consume(request));
    }
    expect(admitted).toMatchObject([
      decision(true, 59, minuteSeconds),
      decision(true, 58, minuteSeconds),
      decision(true, 57, minuteSeconds - 1),
      decision(true, 56, minuteSeconds - 6),
      decision(true, 55, minuteSeconds - 6),
      decision(true, 59, minuteSeconds),
    ]);
    expect(store.operations).toEqual(['GetItem', 'PutItem', 'UpdateItem', 'UpdateItem', 'PutItem', 'UpdateItem', 'PutItem']);
  });

  test('a call takes no round trip while the quota is known to be used up', async () => {
    const counter = openRateLimiter(store.table, now);
    const request = requestOf({ rate: 3, period: 60 });
    expect(counter.findRefusal(request)).toBeUndefined();
    for (let call = 0; call < 3; call++) await counter.consume(request);
    store.operations.length = 0;

    for (let call = 0; call < 100; call++) expect(await counter.consume(request)).toMatchObject(decision(false, 0, minuteSeconds));
    nowMs = startMs + minuteMs - 1;
    const last = decision(false, 0, Math.ceil((1 + slackMs(60)) / 1000));
    expect(counter.findRefusal(request)).toMatchObject(last);
    expect(await counter.consume(request)).toMatchObject(last);
    expect(store.operations).toEqual([]);

    nowMs = startMs + minuteMs;
    expect(counter.findRefusal(request)).toBeUndefined();
    expect(await counter.consume(request)).toMatchObject({ isWithinLimits: true, states: [{ remaining: 2 }] });
    expect(store.operations).toEqual(['PutItem']);
  });

  test('a call takes two reads and two writes if another instance has changed the counter', async () => {
    const [first, second] = [openRateLimiter(store.table, now), openRateLimiter(store.table, now)];
    const request = requestOf({ rate: 60, period: 60 });
    await first.consume(request);
    await second.consume(request);
    nowMs += 6_000;
    await first.consume(request);
    store.operations.length = 0;
    expect(await second.consume(request)).toMatchObject({ isWithinLimits: true, states: [{ remaining: 56 }] });
    expect(store.operations).toEqual(['PutItem', 'GetItem', 'UpdateItem']);
  });
});

test('inspecting costs one read and counts nothing', async () => {
  const counter = openRateLimiter(store.table, now);
  const request = requestOf({ rate: 1, period: 60 });
  expect(await counter.inspect(request)).toMatchObject(decision(true, 1, 1));
  await counter.consume(request);
  nowMs += 3_000;
  expect(await counter.inspect(request)).toMatchObject(decision(false, 0, minuteSeconds - 3));
  expect(store.operations).toEqual(['GetItem', 'PutItem', 'GetItem']);
});
describe('a counted call', () => {
  test('a counted call is renewed without a request to the table if it is sent immediately', async () => {
    const request = requestOf({ rate: 2, period: 60 });
    const limits = openRateLimiter(store.table, now);
    const admitted = await limits.consume(request);
    nowMs += callableUntilMs(0, 60);
    store.operations.length = 0;
    expect(await limits.renew(request, admitted)).toBe(admitted);
    expect(store.operations).toEqual([]);
  });

  test('a call that is counted too late is refused with 503', async () => {
    const slow: Table = {
      ...store.table,
      put: async (item, condition) => {
        const isWritten = await store.table.put(item, condition);
        nowMs += 10_000;
        return isWritten;
      },
    };
    await expect(openRateLimiter(slow, now).consume(requestOf({ rate: 2, period: 60 }))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      message: 'The call could not be counted in time. Try again after Retry-After.',
    });
  });
});

test.each([
  { rate: 5, period: 10 },
  { rate: 3, period: 1 },
])('a client that respects RateLimit-Policy is never refused, even if it sends in parallel ($rate in $period s)', async (limit) => {
  const random = seededRandom(limit.rate);
  const counter = openRateLimiter(store.table, now);
  const request = requestOf(limit);
  const policy = rateLimitHeaders(await counter.consume(request))['RateLimit-Policy'] ?? '';
  const [, quota, seconds] = (/^"execute";q=(\d+);w=(\d+)$/.exec(policy) ?? []).map(Number) as [number, number, number];
  let clientMs = nowMs;
  const sentMs = [clientMs];
  for (let round = 0; round < 20; round++) {
    const free = quota - sentMs.filter((timeMs) => timeMs > clientMs - seconds * 1_000).length;
    const burst = Math.min(free, Math.ceil(random() * quota));
    sentMs.push(...new Array(burst).fill(clientMs));
    // the request reaches the gate up to 50 ms after the client sent it
    nowMs = clientMs + random() * 50;
    const decisions = await Promise.all(Array.from({ length: burst }, () => counter.consume(request)));
    expect(decisions.filter(({ isWithinLimits }) => !isWithinLimits)).toEqual([]);
    clientMs += random() < 0.5 ? seconds * 1_000 : random() * limit.period * 1_000;
  }
});

describe('the counter item', () => {
  test('the counter item stays small and expires after its last call', async () => {
    const [rate, period] = [1_000_000, 604_800];
    const counter = openRateLimiter(store.table, now);
    nowMs = Math.ceil(startMs / bucketMs(period)) * bucketMs(period);
    const request = requestOf({ rate, period });
    for (const remaining of [999_999, 999_998])
      expect(await counter.consume(request)).toMatchObject({ isWithinLimits: true, states: [{ remaining }] });
    const item = await itemOf(request);
    expect(item).toMatchObject({ total: 2, expires_at: Math.ceil((nowMs + longestCountMs(period)) / 1000) + 3_600 });
    expect(JSON.stringify(item).length).toBeLessThan(500);
  });

  test('the counter item belongs to one owner and counter, and has a window for each limit', async () => {
    const counter = openRateLimiter(store.table, now);
    const request = requestOf({ rate: 1, period: 60 });
    const others = [
      { ...request, owner: 'another' },
      { ...request, counter: 'another' },
      { ...request, charges: [{ ...request.charges[0], id: 'another' }] },
    ];
    for (const each of [request, ...others]) expect(await counter.consume(each)).toMatchObject({ isWithinLimits: true });
    for (const each of [request, ...others]) expect(await counter.consume(each)).toMatchObject({ isWithinLimits: false });
    expect(await counter.consume({ ...request, charges: [{ ...request.charges[0], rate: 2 }] })).toMatchObject({
      isWithinLimits: true,
      states: [{ remaining: 0 }],
    });
  });
});

test('a refusal says when to retry', () => {
  const { charges } = countCalls('agent', 'execute', { rate: 60, period: 60 });
  const decision = { isWithinLimits: false, states: [{ charge: charges[0], used: 60, remaining: 0, resetSeconds: 12, retrySeconds: 12 }] };
  expect(limitExceeded(decision)).toMatchObject({
    code: 'TOO_MANY_REQUESTS',
    status: 429,
    message:
      'The rate limit is used up. Send the request again after Retry-After seconds; RateLimit-Policy gives the number of calls and seconds.',
    details: { limit: { rate: 60, period: 60, window: minuteSeconds }, retry_after_seconds: 12 },
    headers: { 'RateLimit-Policy': `"execute";q=60;w=${minuteSeconds}`, RateLimit: '"execute";r=0;t=12', 'Retry-After': '12' },
  });
  expect(limitExceeded(decision, { message: 'Wait.' }).message).toBe('Wait.');
});
