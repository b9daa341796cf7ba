import { ApiError } from '../../functions/core/api-error.ts';
import { limitExceeded, rateLimitHeaders } from '../../functions/core/limit/limit-answers.ts';
import { countCalls } from '../../functions/core/limit/rate-limiter.ts';
import type { RateLimit } from '../../schemas/pat.ts';
import { type Simulation, startSimulation } from '../../test/support/simulation.ts';
import { benchmark } from './benchmark.ts';
import { formatTable } from './load.ts';

const usage = `npm run bench -- shares [options]
Says how much of its rate a client really gets, by how it calls: four instances over one table, in simulated time, so that a seed gives the same numbers again.
  --periods <n>    how long each client calls (30)
  --seed <n>       of the network's delays and faults (1)`;

const limits: RateLimit[] = [
  { rate: 20, period: 1 },
  { rate: 10, period: 10 },
  { rate: 60, period: 60 },
  { rate: 1_000, period: 3_600 },
];

const networks = { 'no faults': {}, '20 % of answers lost, 5 % late': { lost: 0.2, delayed: 0.05 } };

/** What a client gets to see of the outcome of a call. */
interface Answer {
  isAdmitted: boolean;
  /** of `RateLimit`, or 0 with a refusal */
  remaining: number;
  /** of `RateLimit` or `Retry-After` */
  waitSeconds: number;
}

/** Calls until the simulation ends. */
type Client = (call: () => Promise<Answer>, world: Simulation, limit: RateLimit) => Promise<void>;

const clients: Record<string, Client> = {
  /** one call after the other; waits as it is told to */
  obedient: async (call, world) => {
    for (;;) {
      const { isAdmitted, remaining, waitSeconds } = await call();
      if (!isAdmitted || remaining === 0) await world.sleep(waitSeconds * 1_000);
    }
  },
  /** eight calls at once, again and again, whatever the answer is */
  greedy: async (call, world, { period }) => {
    const loop = async () => {
      for (;;) if (!(await call()).isAdmitted) await world.sleep(world.random() * period * 40);
    };
    await Promise.all(Array.from({ length: 8 }, loop));
  },
  /** all that are left at once, then waits as it is told to */
  bursty: async (call, world, { rate }) => {
    for (let left = rate; ; ) {
      const answers = await Promise.all(Array.from({ length: left }, call));
      left = Math.min(...answers.map(({ remaining }) => remaining));
      if (left > 0) continue;
      await world.sleep(Math.max(...answers.map(({ waitSeconds }) => waitSeconds)) * 1_000);
      left = rate;
    }
  },
  /** as many as fit into `RateLimit-Policy`, evenly */
  even: async (call, world, limit) => {
    const headers = rateLimitHeaders({
      states: [{ charge: countCalls('', '', limit).charges[0], used: 0, remaining: 0, resetSeconds: 1, retrySeconds: 1 }],
    });
    const seconds = Number(/w=(\d+)/.exec(headers['RateLimit-Policy'] ?? '')?.[1]);
    for (;;) {
      void call();
      await world.sleep((seconds * 1_000) / limit.rate);
    }
  },
};

interface Share {
  admitted: number;
  /** 429 and 503, for each call that was admitted */
  refused: number;
  failed: number;
}

async function measure(
  client: Client,
  limit: RateLimit,
  periods: number,
  options: { lost?: number; delayed?: number; seed: number },
): Promise<Share> {
  const world = startSimulation({ skewsMs: [0, 0, 0, 0], ...options });
  const request = countCalls('agent', 'execute', limit);
  const totals: Share = { admitted: 0, refused: 0, failed: 0 };
  const call = async (): Promise<Answer> => {
    // the way to the gate and back, besides counting
    await world.sleep(5 + world.random() * 10);
    const instance = world.instances[Math.floor(world.random() * world.instances.length)] as Simulation['instances'][0];
    const answer = async (): Promise<Answer> => {
      try {
        const decision = await instance.consume(request);
        const isAdmitted = decision.isAdmitted;
        totals[isAdmitted ? 'admitted' : 'refused']++;
        const [standing] = decision.states;
        return isAdmitted
          ? { isAdmitted, remaining: standing?.remaining ?? 0, waitSeconds: standing?.resetSeconds ?? 1 }
          : { isAdmitted, remaining: 0, waitSeconds: Number(limitExceeded(decision).headers['Retry-After']) };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        totals.failed++;
        return { isAdmitted: false, remaining: 0, waitSeconds: Number(error.headers['Retry-After']) };
      }
    };
    const answered = await answer();
    await world.sleep(5 + world.random() * 10);
    return answered;
  };
  void client(call, world, limit);
  await world.runUntil(world.now() + periods * limit.period * 1_000);
  return totals;
}

/** `npm run bench -- shares`. */
export const run = benchmark(usage, { periods: 30, seed: 1 }, async ({ periods, seed }) => {
  for (const [network, faults] of Object.entries(networks)) {
    const rows = [];
    for (const limit of limits) {
      const cells = [];
      for (const client of Object.values(clients)) {
        const { admitted, refused, failed } = await measure(client, limit, periods, { ...faults, seed });
        cells.push(
          `${((100 * admitted) / (periods * limit.rate)).toFixed(1)} % (${(refused / admitted).toFixed(2)}, ${(failed / admitted).toFixed(3)})`,
        );
      }
      rows.push([`${limit.rate} in ${limit.period} s`, ...cells]);
    }
    console.log(`${network}: share of the rate (429 and 503 for each call admitted)\n`);
    console.log(`${formatTable([['limit', ...Object.keys(clients)], ...rows])}\n`);
  }
});
