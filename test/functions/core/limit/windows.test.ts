import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import db from 'dynalite/db/index.js';
import { openCounterItems, rememberedTokens } from '../../../../functions/core/limit/counter-item.ts';
import { limitExceeded, rateLimitHeaders } from '../../../../functions/core/limit/limit-answers.ts';
import { countExecution, type LimitRequest } from '../../../../functions/core/limit/limit-request.ts';
import { type LimitDecision, openRateLimiter, type RateLimiter, slackMs } from '../../../../functions/core/limit/rate-limiter.ts';
import { bucketMs, liveBuckets, longestCountMs } from '../../../../functions/core/limit/window.ts';
import { personOf, toHolder } from '../../../../functions/core/pat/holder.ts';
import type { Charge } from '../../../../functions/core/policy/limits.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import { connectTable } from '../../../support/connect-table.ts';
import { seededRandom } from '../../../support/random.ts';
import { startTable } from '../../../support/table.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

/** A time at which a bucket of every period used here begins. */
const startMs = Date.UTC(2026, 0, 1);
const store = await startTable();
let nowMs: number;
const now = () => nowMs;
let agents = 0;

afterAll(() => store.stop());
beforeEach(() => {
  nowMs = startMs;
});

const calls = (id: string, rate: number, period: number): Charge => ({ id, name: id, rate, period, cost: 1 });
const money = (id: string, budget: number, cost: number, period = 2_678_400): Charge => ({
  id,
  name: id,
  rule: '/permission/0/duty/0',
  rate: budget,
  period,
  cost,
  currency: 'EUR',
});
const requestOf = (...charges: Charge[]): LimitRequest => ({ owner: `agent-${++agents}`, counter: 'execute', charges });
const totalsOf = async ({ owner, counter }: LimitRequest): Promise<Record<string, number>> => {
  const item = await openCounterItems(store.table).find(keys.limit(owner, counter));
  return Object.fromEntries(Object.entries(item?.windows ?? {}).map(([id, { total }]) => [id, total]));
};
const settle = (limits: RateLimiter[], request: LimitRequest, count: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, at) => (limits[at % limits.length] as RateLimiter).consume(request)));

describe('several limits at once', () => {
  /** The size of an item whose limits are used up and have counts in all buckets. */
  const fill = async (owner: string, charges: Charge[]): Promise<number> => {
    const limits = openRateLimiter(store.table, now);
    for (let bucket = 0; bucket < liveBuckets; bucket++) {
      for (let at = 0; at < charges.length; at += 8) {
        const request = { owner, counter: 'execute', charges: charges.slice(at, at + 8) };
        expect(await limits.consume(request)).toMatchObject({ isWithinLimits: true });
      }
      nowMs += bucketMs(2_678_400);
    }
    const { pk, sk } = keys.limit(owner, 'execute');
    const command = new GetItemCommand({ TableName: store.tableNames.activity, Key: { pk: { S: pk }, sk: { S: sk } } });
    const { Item = {} } = await store.client.send(command);
    return db.itemSize(JSON.parse(JSON.stringify(Item)));
  };
  /** A budget of 999.99 EUR a month, with an id as long as those of policies. */
  const large = (at: number): Charge => money(`limit_${String(at).padStart(2, '0')}`, 99_999, 4_545);

  test.each([
    [8, 1_024],
    [32, 4_096],
  ])('%d limits take less than %d bytes when full', async (count, bytes) => {
    const holder = `${'x'.repeat(41)}${count}`.slice(-43);
    const charges = Array.from({ length: count }, (_, at) => large(at));
    expect(await fill(holder, charges)).toBeLessThan(bytes);
  });

  test('several limits are counted together or not at all: a call that one refuses uses none of the others', async () => {
    const limits = openRateLimiter(store.table, now);
    const [all, narrow] = [calls('all', 10, 60), calls('narrow', 2, 3_600)];
    const wide = requestOf(all);
    const both = { ...wide, charges: [all, narrow] };
    await settle([limits], both, 5);
    expect(await totalsOf(wide)).toEqual({ all: 2, narrow: 2 });
    const refused = await limits.consume(both);
    expect(refused).toMatchObject({ isWithinLimits: false });
    expect(limitExceeded(refused).headers).toMatchObject({
      'RateLimit-Policy': '"all";q=10;w=68, "narrow";q=2;w=3962',
      RateLimit: '"narrow";r=0;t=3962, "all";r=8;t=68',
      'Retry-After': '3962',
    });
    for (let call = 0; call < 8; call++) expect(await limits.consume(wide)).toMatchObject({ isWithinLimits: true });
    expect(await limits.consume(wide)).toMatchObject({ isWithinLimits: false });
    expect(await totalsOf(wide)).toEqual({ all: 10, narrow: 2 });
  });

  test('several limits never refuse a client that obeys the headers, even if calls have different prices', async () => {
    const random = seededRandom(3);
    const shared = (cost: number): Charge => ({ ...money('daily', 1_000, cost, 60), maxCost: 450 });
    const wide = requestOf();
    const limits = [0, 1].map(() => openRateLimiter(store.table, now));
    let dear = 0;
    for (let call = 0; call < 60; call++) {
      const cost = [50, 100, 450][Math.floor(random() * 3)] as number;
      if (cost === 450) dear++;
      const decision = await (limits[call % 2] as RateLimiter).consume({ ...wide, charges: [shared(cost)] });
      expect(decision).toMatchObject({ isWithinLimits: true });
      const { 'RateLimit-Policy': policy, RateLimit: rest = '' } = rateLimitHeaders(decision);
      expect(policy).toBe('"daily";q=2;w=68');
      const [, remaining, seconds] = /^"daily";r=(\d+);t=(\d+)/.exec(rest) ?? [];
      if (remaining === '0') nowMs += Number(seconds) * 1_000;
    }
    expect(dear).toBeGreaterThan(10);
    // Retry-After is about the refused call, not the most expensive one
    for (let call = 0; call < 20; call++) await limits[0]?.consume({ ...wide, charges: [shared(50)] });
    const refused = limitExceeded((await limits[0]?.consume({ ...wide, charges: [shared(50)] })) as LimitDecision);
    nowMs += Number(refused.headers['Retry-After']) * 1_000;
    expect(await limits[0]?.consume({ ...wide, charges: [shared(50)] })).toMatchObject({ isWithinLimits: true });
  });

  test('a limit that was removed from the policy is dropped once it is empty, and the others keep their counts', async () => {
    const limits = openRateLimiter(store.table, now);
    const request = requestOf(calls('kept', 10, 86_400), calls('old', 10, 60));
    await limits.consume(request);
    const changed = { ...request, charges: [calls('kept', 10, 86_400), calls('new', 10, 60)] };
    await limits.consume(changed);
    expect(await totalsOf(request)).toEqual({ kept: 2, old: 1, new: 1 });
    nowMs += bucketMs(86_400) * 2;
    await limits.consume(changed);
    expect(await totalsOf(request)).toEqual({ kept: 3, new: 1 });
  });

  test('a total counts all calls for as long as the policy states it', async () => {
    const limits = openRateLimiter(store.table, now);
    const request = requestOf({ ...calls('ever', 3, Number.POSITIVE_INFINITY), rule: '/permission/0/constraint/0' });
    for (let call = 0; call < 3; call++) {
      const decision = await limits.consume(request);
      expect(decision).toMatchObject({ isWithinLimits: true });
      expect(rateLimitHeaders(decision).RateLimit).toBe(`"ever";r=${2 - call}`);
      nowMs += 366 * 86_400_000;
    }
    const refusal = limitExceeded(await openRateLimiter(store.table, now).consume(request));
    expect(refusal).toMatchObject({
      code: 'FORBIDDEN',
      details: { reason: 'count', rule: '/permission/0/constraint/0', limit: { rate: 3 } },
      headers: { 'RateLimit-Policy': '"ever";q=3', RateLimit: '"ever";r=0' },
    });
    expect(refusal.headers).not.toHaveProperty('Retry-After');
    expect(await store.table.get(keys.limit(request.owner, 'execute'))).not.toHaveProperty('expires_at');
  });
});

describe('a budget', () => {
  test('a budget refuses with 429, and warns from 80 %', async () => {
    const limits = openRateLimiter(store.table, now);
    const request = requestOf(money('monthly', 1_000, 300));
    const answers = [];
    for (let call = 0; call < 3; call++) answers.push(rateLimitHeaders(await limits.consume(request))['Budget-Warning']);
    expect(answers).toEqual([undefined, undefined, '"monthly";used="9.00";budget="10.00";unit="EUR"']);
    const refusal = limitExceeded(await limits.consume(request));
    const seconds = Math.ceil((longestCountMs(2_678_400) + slackMs(2_678_400) - ((nowMs % bucketMs(2_678_400)) as number)) / 1_000);
    expect(refusal).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      message: 'The budget is not sufficient for this call. Send it again after Retry-After seconds, when enough of it is available.',
      details: {
        reason: 'budget',
        rule: '/permission/0/duty/0',
        budget: { amount: '10.00', unit: 'EUR', period: 2_678_400 },
        retry_after_seconds: seconds,
      },
    });
    expect(refusal.headers).toMatchObject({ RateLimit: `"monthly";r=0;t=${seconds}`, 'Retry-After': String(seconds) });
  });

  test('a budget and a total are refunded for a call that was not sent; rates stay counted', async () => {
    const limits = openRateLimiter(store.table, now);
    const request = requestOf(money('monthly', 900, 300), calls('minute', 60, 60), calls('ever', 9, Number.POSITIVE_INFINITY));
    const decision = await limits.consume(request);
    await limits.consume(request);
    nowMs += bucketMs(60) * 3;
    await limits.giveBack(request, decision);
    expect(await totalsOf(request)).toEqual({ monthly: 300, minute: 2, ever: 1 });
    nowMs += longestCountMs(2_678_400);
    expect(await limits.consume(request)).toMatchObject({ isWithinLimits: true, states: [{ used: 300 }, { used: 1 }, { used: 2 }] });
    // its slot belongs to another bucket now
    await limits.giveBack({ ...request, charges: request.charges.slice(0, 1) }, decision);
    expect(await totalsOf(request)).toMatchObject({ monthly: 300 });
  });

  test('a budget is refunded for a call that was counted too late at every attempt', async () => {
    const request = requestOf(money('monthly', 1_000, 100), calls('minute', 60, 60), calls('ever', 9, Number.POSITIVE_INFINITY));
    /** Every write takes too long. */
    function late<A extends unknown[], R>(write: (...input: A) => Promise<R>) {
      return async (...input: A): Promise<R> => {
        const written = await write(...input);
        nowMs += bucketMs(60) * 2;
        return written;
      };
    }
    const { table } = store;
    const limits = openRateLimiter({ ...table, update: late(table.update), put: late(table.put) } as typeof table, now);
    await expect(limits.consume(request)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await totalsOf(request)).toEqual({ monthly: 0, minute: 1, ever: 0 });
  });

  test('a budget notices within ten seconds that another instance has refunded it', async () => {
    const charge = money('monthly', 300, 300);
    const [here, there] = [openRateLimiter(store.table, now), openRateLimiter(store.table, now)];
    const request = requestOf(charge);
    const decision = await here.consume(request);
    expect(await there.consume(request)).toMatchObject({ isWithinLimits: false });
    await here.giveBack(request, decision);
    expect(there.findRefusal(request)).toMatchObject({ isWithinLimits: false });
    nowMs += 10_001;
    expect(there.findRefusal(request)).toBeUndefined();
    expect(await there.consume(request)).toMatchObject({ isWithinLimits: true });
  });
});

test('a person has a rate per client and a total over all clients, counted in one write', async () => {
  const limits = openRateLimiter(store.table, now);
  const person = personOf(`person-${++agents}`);
  const charges = [calls('day', 4, 86_400), calls('ever', 10, Number.POSITIVE_INFINITY)];
  const call = async (client: string) => (await limits.consume(countExecution(toHolder(client, person), charges))).isWithinLimits;
  expect([await call('a'), await call('b')]).toEqual([true, true]);
  store.operations.length = 0;
  expect([await call('a'), await call('b')]).toEqual([true, true]);
  expect(store.operations).toEqual(['UpdateItem', 'UpdateItem']);
  const useUp = async (client: string) => {
    let made = 0;
    while (await call(client)) made++;
    return made;
  };
  expect([await useUp('a'), await useUp('b'), await useUp('c')]).toEqual([2, 2, 2]);
});

test('a person has windows for 200 clients besides the calling one; further clients are refused until a window is empty', async () => {
  const thumbprint = `person-${++agents}`;
  const table = openMemoryTable();
  const limits = openRateLimiter(table, now);
  const call = (client: number) =>
    limits.consume(
      countExecution({ principal: thumbprint, account: `account.${String(client).padStart(8, '0')}` }, [calls('minute', 60, 60)]),
    );
  for (let client = 0; client <= 200; client++) expect((await call(client)).isWithinLimits).toBe(true);
  nowMs += bucketMs(60);
  const refusal = {
    code: 'TOO_MANY_REQUESTS',
    status: 429,
    message: 'Too many clients have called for this person recently. Try again after Retry-After seconds.',
    details: { reason: 'clients', retry_after_seconds: 3_600 },
    headers: { 'Retry-After': '3600' },
  };
  await expect(call(201)).rejects.toMatchObject(refusal);
  // known clients are not refused
  for (const client of [0, 200]) expect((await call(client)).isWithinLimits).toBe(true);
  await expect(call(201)).rejects.toMatchObject(refusal);
  nowMs += longestCountMs(60) + 3_600_000;
  expect((await call(201)).isWithinLimits).toBe(true);
  const item = await openCounterItems(table).find(keys.limit(thumbprint, 'execute'));
  expect(Object.keys(item?.windows ?? {})).toHaveLength(1);
});

describe('a write whose response is lost', () => {
  const interrupted = async (others: number, period = 3_600) => {
    const table = connectTable(store.endpoint, store.tableNames);
    const other = openRateLimiter(store.table, now);
    const request = requestOf(calls('hour', 100, period));
    let isLost = false;
    const limits = openRateLimiter(
      {
        ...table,
        update: async <T extends Record<string, unknown>>(...given: Parameters<typeof table.update>) => {
          const written = await table.update<T>(...given);
          if (!isLost) return written;
          isLost = false;
          for (let call = 0; call < others; call++) await other.consume(request);
          // the SDK's retry
          return table.update<T>(...given);
        },
      },
      now,
    );
    await limits.consume(request);
    isLost = true;
    expect(await limits.consume(request)).toMatchObject({ isWithinLimits: true });
    return totalsOf(request);
  };

  test.each([0, rememberedTokens - 1])('a lost response counts once if %s other writes happen before the retry', async (others) => {
    expect(await interrupted(others)).toEqual({ hour: 2 + others });
  });
});
