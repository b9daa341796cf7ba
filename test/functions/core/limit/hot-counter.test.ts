import { expect, test } from '@jest/globals';
import { countCalls } from '../../../../functions/core/limit/limit-request.ts';
import type { RateLimiter } from '../../../../functions/core/limit/rate-limiter.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import type { RateLimit } from '../../../../schemas/pat.ts';
import { startSimulation } from '../../../support/simulation.ts';

const environments = 300;
const callsPerSecond = 1_000;
const seconds = 4;

/** 1,000 calls a second on one counter, in environments that make one call at a time. */
async function strain(limit: RateLimit, throttled: number) {
  const world = startSimulation({ skewsMs: Array.from({ length: environments }, () => 0), throttled });
  const request = countCalls('agent', 'execute', limit);
  const free: RateLimiter[] = [...world.instances];
  const startMs = world.now();
  const outcomes: Record<string, number> = {};
  let [longestMs, busiest] = [0, 0];

  async function call(): Promise<string> {
    const limits = free.splice(Math.floor(world.random() * free.length), 1)[0];
    if (!limits) return 'no environment';
    busiest = Math.max(busiest, environments - free.length);
    const beganMs = world.now();
    try {
      return (await limits.consume(request)).isWithinLimits ? 'admitted' : 'refused';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.code;
    } finally {
      longestMs = Math.max(longestMs, world.now() - beganMs);
      free.push(limits);
    }
  }

  const calls: Promise<void>[] = [];
  for (let ms = 0; ms < seconds * 1_000; ms += 1_000 / callsPerSecond) {
    await world.runUntil(startMs + ms);
    calls.push(
      call().then((outcome) => {
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }),
    );
  }
  await world.runUntil(startMs + seconds * 1_000 + 60_000);
  await Promise.all(calls);
  return { outcomes, longestMs, busiest };
}

test.each([
  [0.95, 'a minute', { period: 60, rate: 1_000_000 }],
  [0.95, 'a second', { period: 1, rate: 300 }],
])(
  'with %s of its writes throttled, a counter of %s refuses calls within a second and leaves environments free',
  async (throttled, _, limit) => {
    const { outcomes, longestMs, busiest } = await strain(limit, throttled);
    const { admitted = 0, refused = 0, SERVICE_UNAVAILABLE: unavailable = 0 } = outcomes;
    expect(admitted + refused + unavailable).toBe(callsPerSecond * seconds);
    expect(admitted).toBeGreaterThan(0);
    expect(longestMs).toBeLessThan(1_000);
    expect(busiest).toBeLessThan(0.8 * environments);
  },
);
