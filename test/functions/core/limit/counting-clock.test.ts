import { describe, expect, test } from '@jest/globals';
import { openCountingClock } from '../../../../functions/core/limit/counting-clock.ts';
import { countCalls } from '../../../../functions/core/limit/limit-request.ts';
import { describeCause } from '../../../../functions/core/runtime/log.ts';
import { openTableClock } from '../../../../functions/core/table/table-clock.ts';
import type { RateLimit } from '../../../../schemas/pat.ts';
import { type SimulationOptions, startSimulation } from '../../../support/simulation.ts';

const unknownTime = 'The clock of the gate is not accurate enough to count the call. Try again after Retry-After.';

/** Calls as often as possible through all instances. Returns the calls admitted and refused for their clock by each, and the maximum in any period. */
async function hammer(limit: RateLimit, options: SimulationOptions) {
  const world = startSimulation(options);
  const request = countCalls('agent', 'execute', limit);
  const timesMs: number[] = [];
  const admitted = world.instances.map(() => 0);
  const doubted = world.instances.map(() => 0);
  const callOnce = async (instance: number): Promise<void> => {
    const limits = world.instances[instance];
    // an execution reads before it counts, and every response carries the time
    await limits?.inspect(request);
    if (!(await limits?.consume(request))?.isWithinLimits) return;
    timesMs.push(world.now());
    admitted[instance] = (admitted[instance] ?? 0) + 1;
  };
  const callOn = async (instance: number): Promise<void> => {
    for (;;) {
      await world.sleep(world.random() * 20 * limit.period);
      await callOnce(instance).catch(({ message }) => {
        if (message === unknownTime) doubted[instance] = (doubted[instance] ?? 0) + 1;
      });
    }
  };
  for (const instance of world.instances.keys()) for (let caller = 0; caller < 3; caller++) void callOn(instance);
  await world.runUntil(world.now() + 6 * limit.period * 1_000);
  const within = (timeMs: number) => timesMs.filter((other) => other >= timeMs && other < timeMs + limit.period * 1_000).length;
  return { most: Math.max(...timesMs.map(within)), total: timesMs.length, admitted, doubted };
}

const limits = [
  { rate: 20, period: 1 },
  { rate: 60, period: 60 },
];

describe('four instances with a fifth of the responses lost', () => {
  test.each(limits)('clocks five seconds ahead and behind never count more than $rate in $period s', async (limit) => {
    for (let seed = 1; seed <= 2; seed++) {
      const { most, total, admitted, doubted } = await hammer(limit, { skewsMs: [0, 5_000, -5_000, 0], lost: 0.2, seed });
      expect(most).toBeLessThanOrEqual(limit.rate);
      expect(total).toBeGreaterThan(5 * limit.rate);
      // the shortest period tolerates no wrong clock; the longest is counted by the table's time from the first response
      const [right, ahead, behind] = admitted.map((count) => count > 0);
      expect([right, ahead, behind]).toEqual(limit.period === 1 ? [true, false, false] : [true, true, true]);
      if (limit.period === 60) expect(doubted).toEqual([0, 0, 0, 0]);
    }
  });

  test.each(limits)('clocks twelve seconds off count nothing ($rate in $period s)', async (limit) => {
    const { most, admitted, doubted } = await hammer(limit, { skewsMs: [0, 12_000, -12_000, 0], lost: 0.2 });
    expect(most).toBeLessThanOrEqual(limit.rate);
    expect(admitted.map((count) => count > 0)).toEqual([true, false, false, true]);
    expect(doubted.map((count) => count > 0)).toEqual([false, true, true, false]);
  });

  test('an instance trusts its clock if responses of the table have no date', async () => {
    const { most, doubted } = await hammer({ rate: 20, period: 1 }, { skewsMs: [0, 0, 0, 0], lost: 0.2, hasNoDates: true });
    expect(most).toBeLessThanOrEqual(20);
    expect(doubted).toEqual([0, 0, 0, 0]);
  });
});

describe('an instance whose clock is five seconds ahead', () => {
  const open = () => {
    const world = startSimulation({ skewsMs: [5_000] });
    const consume = async (limit: RateLimit): Promise<unknown> => {
      const outcome = world.instances[0]?.consume(countCalls('agent', 'execute', limit)).catch((error: unknown) => error);
      await world.runUntil(world.now() + 100);
      return outcome;
    };
    return { world, consume };
  };

  /** One read for the missing counter, then one write per call. */
  test('an instance whose clock is five seconds ahead counts from its first call, by the dates of responses that it needs anyway', async () => {
    const { world, consume } = open();
    for (const operations of [2, 3, 4]) {
      expect(await consume({ rate: 60, period: 60 })).toMatchObject({ isWithinLimits: true });
      expect(world.operations).toEqual([operations]);
    }
  });

  test('an instance whose clock is five seconds ahead answers 503 under a limit that needs a better clock, and logs the cause', async () => {
    const refusal = await open().consume({ rate: 20, period: 1 });
    expect(refusal).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503, message: unknownTime, headers: { 'Retry-After': '1' } });
    expect(describeCause((refusal as Error).cause)).toMatchObject({ name: 'WrongClock' });
  });
});

describe("the table's time", () => {
  const tableMs = Date.UTC(2026, 0, 1);
  /** A clock that shows 0 when the table's shows `tableMs`. */
  const open = () => {
    let nowMs = 0;
    const clock = openTableClock(() => nowMs);
    const dateAt = (timeMs: number) => new Date(tableMs + timeMs).toUTCString();
    return {
      clock,
      wait: (ms: number) => {
        nowMs += ms;
      },
      /** A response that takes this many milliseconds. */
      answer: (tookMs: number, headers: Record<string, string> = { date: dateAt(nowMs + tookMs / 2) }) => {
        const sentMs = nowMs;
        nowMs += tookMs;
        clock.observe({ sentMs, receivedMs: nowMs, headers });
      },
      dateAt,
      /** The bounds, relative to the true time. */
      errors: () => {
        const { earliestMs, latestMs } = clock.bounds();
        return [earliestMs, latestMs].map((timeMs) => Math.round(timeMs - tableMs - nowMs));
      },
    };
  };

  test("the table's time is unknown before the first response", () => {
    expect(open().errors()).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });

  test("the table's time is known to a second, tolerance and round trip after one response, and more precisely after others", () => {
    const { answer, wait, errors } = open();
    wait(300);
    answer(20);
    expect(errors()).toEqual([-420, 800]);
    wait(600);
    answer(20);
    expect(errors()).toEqual([-421, 180]);
    wait(65);
    answer(10);
    expect(errors()).toEqual([-115, 180]);
  });

  test("the table's time is known less precisely as time passes without responses, and after a slow response", () => {
    const { answer, wait, errors } = open();
    answer(1_000);
    expect(errors()).toEqual([-1_100, 1_100]);
    wait(60_000);
    expect(errors()).toEqual([-1_160, 1_160]);
  });

  test("the table's time is not read from dates that are missing, invalid or cached", () => {
    const { answer, wait, errors, dateAt } = open();
    for (const headers of [{}, { date: '' }, { date: 'soon' }, { date: dateAt(-60_000), age: '60' }])
      answer(0, headers as Record<string, string>);
    expect(errors()).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
    wait(500);
    answer(0);
    expect(errors()).toEqual([-600, 600]);
  });

  test("the table's time is taken from the latest of contradictory responses", () => {
    const { answer, errors, dateAt } = open();
    answer(0);
    answer(0, { date: dateAt(3_600_000) });
    expect(errors()).toEqual([3_599_900, 3_601_100]);
    answer(0);
    expect(errors()).toEqual([-100, 1_100]);
  });
});

describe('the clock of an instance', () => {
  const bounds = (earliestMs: number, latestMs: number) => ({ bounds: () => ({ earliestMs, latestMs }), observe: () => {} });
  test.each([
    {
      what: 'the measurement, if it is precise enough',
      table: bounds(9_000, 10_200),
      period: 60,
      ownMs: 12_000,
      expected: { earliestMs: 9_000, latestMs: 10_200 },
    },
    {
      what: 'its own clock, for a shorter period',
      table: bounds(9_000, 10_200),
      period: 40,
      ownMs: 10_000,
      expected: { earliestMs: 9_750, latestMs: 10_250 },
    },
    {
      what: 'its own clock, if the time of the table is unknown',
      period: 1,
      ownMs: 10_000,
      expected: { earliestMs: 9_993.75, latestMs: 10_006.25 },
    },
    {
      what: 'its own clock, for a total',
      period: Number.POSITIVE_INFINITY,
      ownMs: 10_000,
      expected: { earliestMs: 9_625, latestMs: 10_375 },
    },
    {
      what: 'nothing, if its own clock is wrong and the measurement is not precise enough',
      table: bounds(9_000, 10_200),
      period: 40,
      ownMs: 10_201,
      expected: { doubt: '1 ms, 250 ms' },
    },
    {
      what: 'nothing, if the clocks are far apart',
      table: bounds(9_000, 10_200),
      period: 60,
      ownMs: 20_201,
      expected: { doubt: '10001 ms, 10000 ms' },
    },
  ])('an instance counts by $what', ({ table, period, ownMs, expected }) => {
    const reading = openCountingClock(table, () => ownMs).read(period);
    const numbers = reading.doubt?.match(/\d+ ms/g)?.join(', ');
    expect(numbers === undefined ? reading : { doubt: numbers }).toEqual(expected);
  });
});
