import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { boundOf, openSlowCalls, type SlowCalls, type SlowCallsItem } from '../../../../functions/core/execution/slow-calls.ts';
import { unavailable } from '../../../../functions/core/runtime/api-error.ts';
import type { Table } from '../../../../functions/core/table/table.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const bound = 3;
const intentAt = (origin: string) => ({ endpoint: { url: `${origin}/orders/{id}` } }) as Parameters<SlowCalls['keyOf']>[0];
const slow = intentAt('https://slow.example');

let table: Table;
let slowCalls: SlowCalls;

beforeEach(() => {
  jest.useFakeTimers();
  table = openMemoryTable();
  slowCalls = openSlowCalls(table, 'execute-intent', bound);
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

const read = (intent = slow) => table.get<SlowCallsItem>(slowCalls.keyOf(intent));
const listed = async () => (await read())?.leases?.size ?? 0;

/** A call that has just read the record. @returns what ends it */
async function begin(intent = slow, own = slowCalls): Promise<() => Promise<void>> {
  const ofOrigin = own.of(intent, await table.get(own.keyOf(intent)));
  ofOrigin.requireRoom();
  return ofOrigin.watch();
}

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

/** So many calls that all have become slow. @returns what ends them */
async function beginSlow(count = bound): Promise<(() => Promise<void>)[]> {
  const ends = await Promise.all(Array.from({ length: count }, () => begin()));
  await pass(3_000);
  return ends;
}

const crowded = expect.objectContaining({
  code: 'SERVICE_UNAVAILABLE',
  status: 503,
  message: "Too many calls are waiting for the host of the intent's endpoint. Nothing was sent; try again after Retry-After.",
  details: { reason: 'crowded', outcome: 'not_sent', retry_after_seconds: 5 },
  headers: { 'Retry-After': '5' },
  fault: 'upstream',
});

describe('a call', () => {
  test('a call is listed after 3 seconds, until it ends', async () => {
    const end = await begin();
    await pass(2_999);
    expect(await read()).toBeUndefined();
    await pass(1);
    expect(await listed()).toBe(1);
    await end();
    expect(await read()).toEqual({ ...slowCalls.keyOf(slow), expires_at: Math.ceil(Date.now() / 1_000) + 3_630 });
  });

  test('a call that ends within three seconds writes nothing', async () => {
    const update = jest.spyOn(table, 'update');
    const end = await begin();
    await pass(2_999);
    await end();
    await pass(10_000);
    expect(update).not.toHaveBeenCalled();
  });

  test('a call whose environment crashes is over after 30 seconds, and is taken off the list by the next slow one', async () => {
    await beginSlow();
    await pass(29_999);
    await expect(begin()).rejects.toEqual(crowded);
    await pass(1_000);
    const end = await begin();
    await pass(3_000);
    expect(await listed()).toBe(1);
    await end();
    expect(await listed()).toBe(0);
  });
});

describe('a background call', () => {
  beforeEach(() => {
    slowCalls = openSlowCalls(table, 'run-deferred-call', bound, { leaseSeconds: 660 });
  });

  test('a background call is listed from its start until it ends', async () => {
    const end = await begin();
    expect(await listed()).toBe(1);
    await end();
    expect(await listed()).toBe(0);
  });

  test.each([
    ['at the same time', async () => Promise.allSettled(Array.from({ length: 40 }, () => begin()))],
    [
      'one after the other',
      async () => {
        const results: PromiseSettledResult<unknown>[] = [];
        for (let at = 0; at < 40; at++) results.push(...(await Promise.allSettled([begin()])));
        return results;
      },
    ],
    [
      'having all read the list while it was empty',
      async () => {
        const calls = Array.from({ length: 40 }, () => slowCalls.of(slow, undefined));
        return Promise.allSettled(calls.map((call) => call.watch()));
      },
    ],
  ])('a background call is one of at most as many to its origin as the bound, if 40 start %s', async (_, start) => {
    const results = await start();
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(bound);
    expect(results.filter((one) => one.status === 'rejected').map(({ reason }) => reason)).toEqual(Array(40 - bound).fill(crowded));
  });

  test('a background call whose environment crashes gives way to another after its longest run', async () => {
    for (let at = 0; at < bound; at++) await begin();
    await pass(659_999);
    await expect(slowCalls.of(slow, undefined).watch()).rejects.toEqual(crowded);
    await pass(1_000);
    await slowCalls.of(slow, undefined).watch();
    expect(await listed()).toBe(1);
  });

  test('a background call to another origin is not affected', async () => {
    for (let at = 0; at < bound; at++) await begin();
    await begin(intentAt('https://other.example'));
  });

  test('a background call is not made if it cannot be listed', async () => {
    jest.spyOn(table, 'update').mockRejectedValue(unavailable('No.'));
    await expect(begin()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});

describe('an origin', () => {
  test('an origin with as many slow calls as it may have gets no more, until one ends', async () => {
    const ends = await beginSlow();
    await expect(begin()).rejects.toEqual(crowded);
    await ends[0]?.();
    await begin();
  });

  test.each([
    ['another origin', intentAt('https://other.example'), 'execute-intent'],
    ['another function', slow, 'mcp'],
  ])('a crowded origin does not keep calls from %s', async (_, intent, name) => {
    await beginSlow();
    await begin(intent, openSlowCalls(table, name, bound));
  });

  test('an origin is the same whatever the path and the spelling of the host', () => {
    expect(slowCalls.keyOf(intentAt('HTTPS://SLOW.example:443'))).toEqual(slowCalls.keyOf(slow));
  });

  test('an origin lists at most twice as many calls, however many become slow at the same time', async () => {
    const ends = await beginSlow(10 * bound);
    expect(await listed()).toBe(2 * bound);
    await Promise.all(ends.slice(0, 9 * bound).map((end) => end()));
    const left = await listed();
    await Promise.all(ends.map((end) => end()));
    expect([left, await listed()]).toEqual([0, 0]);
  });

  test('an origin that was crowded has its calls listed after 300 ms for the next minute', async () => {
    const ends = await beginSlow();
    await Promise.all(ends.map((end) => end()));
    const soon = await begin();
    await pass(300);
    expect(await listed()).toBe(1);
    await soon();
    await pass(60_000);
    await begin();
    await pass(2_999);
    expect(await listed()).toBe(0);
  });
});

test.each([
  ['because the table is out of reach', () => Promise.reject(unavailable('No.'))],
  ['because the table does not answer', () => new Promise<never>((_, reject) => void setTimeout(reject, 500, unavailable('No.')))],
])('a list that cannot be written %s fails no call, and delays it by at most half a second', async (_, update) => {
  jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  jest.spyOn(table, 'update').mockImplementation(update);
  const end = await begin();
  await pass(20_000);
  const over = jest.fn();
  void end().then(over);
  await pass(500);
  expect(over).toHaveBeenCalled();
});

test.each([
  [undefined, 50],
  [1, 1],
  [300, 60],
  [1_000, 100],
])('of %s reserved runs, slow calls to one origin take at most %s', (reserved, most) => {
  expect(boundOf(reserved)).toBe(most);
});

test('the list is within one read unit', () => {
  const lease = `${Math.ceil(Date.now() / 1_000)}.aaaaaa`;
  const names = slowCalls.keyOf(intentAt(`https://${'a'.repeat(250)}.example`));
  expect(2 * boundOf(1_000) * lease.length + JSON.stringify(names).length + 100).toBeLessThan(4_096);
});
