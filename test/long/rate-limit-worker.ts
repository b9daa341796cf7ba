/** A process of {@link ./rate-limit.ts}: executes as often as it may, and reports when, until its parent disconnects. */
import { setTimeout } from 'node:timers/promises';
import { openCountingClock } from '../../functions/core/limit/counting-clock.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import type { RateLimit } from '../../schemas/pat.ts';
import { connectFaultyTable, type TableAnswer, type TableRequest } from '../support/faulty-table.ts';
import { makeCall } from '../support/make-call.ts';

export interface Task {
  /** executions at the same time */
  concurrency: number;
  agents: { thumbprint: string; limits: RateLimit[] }[];
  /** how far the clock of this process is ahead of the table's, in milliseconds */
  skewMs: number;
  /** share of the calls that are made late after they were counted */
  dawdling: number;
}

export interface Report {
  /** index of the agent, and when the call was made in milliseconds since the epoch */
  executed: [agent: number, timeMs: number][];
  refused: number;
  /** not counted in time */
  late: number;
  /** the time was not known well enough for the limit */
  doubtful: number;
  /** the table was out of reach */
  unreachable: number;
}

/** What this process asks of the table, which its parent has, and what it is told. */
export interface Asked {
  id: number;
  request: TableRequest;
}
export interface Told {
  id: number;
  answer: TableAnswer | undefined;
}

const waiting = new Map<number, (answer: TableAnswer | undefined) => void>();
let asked = 0;

function ask(request: TableRequest): Promise<TableAnswer | undefined> {
  const { promise, resolve } = Promise.withResolvers<TableAnswer | undefined>();
  const id = ++asked;
  waiting.set(id, resolve);
  // the channel may have been closed meanwhile
  process.send?.({ id, request } satisfies Asked, undefined, undefined, () => {});
  return promise;
}

/** How long after it was counted a call is made at most, in milliseconds: connections take so long, and secrets that have to be fetched. */
const maxDawdleMs = 500;

const newReport = (): Report => ({ executed: [], refused: 0, late: 0, doubtful: 0, unreachable: 0 });

process.once('message', async ({ agents, concurrency, skewMs, dawdling }: Task) => {
  process.on('message', ({ id, answer }: Told) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  // nobody answers any more
  process.once('disconnect', () => process.exit());
  const table = connectFaultyTable(ask);
  const clock = openCountingClock(table.clock, () => Date.now() + skewMs);
  const counter = openRateLimiter(table, clock);
  let report = newReport();

  /** An agent for whose limits the time is not known well enough is left alone, for longer each time: to ask again and again would take what the others need. */
  const doubts = agents.map(() => ({ untilMs: 0, waitMs: 100 }));

  const executeOnce = async () => {
    const index = Math.floor(Math.random() * agents.length);
    const doubt = doubts[index] as (typeof doubts)[0];
    if (performance.now() < doubt.untilMs) return setTimeout(1);
    const { thumbprint, limits } = agents[index] as Task['agents'][0];
    const charges = limits.map(({ rate, period }) => ({ id: String(period), name: 'execute', rate, period, cost: 1 }));
    const request = { owner: thumbprint, counter: 'execute', charges };
    try {
      // an execution reads before it counts, and each answer tells the time
      if (limits.some(({ period }) => clock.read(period).doubt)) await counter.inspect(request);
      const dawdle = async () => Math.random() < dawdling && setTimeout(Math.random() * maxDawdleMs);
      const madeMs = await makeCall(counter, request, dawdle);
      if (madeMs !== undefined) report.executed.push([index, madeMs]);
      else report.refused++;
      if (madeMs === undefined) await setTimeout(1);
    } catch (error) {
      if ((error as Error).message.startsWith('The call could not be counted')) report.late++;
      else if ((error as Error).message.startsWith('The clock of the gate is not accurate enough')) {
        report.doubtful++;
        doubt.waitMs *= 2;
        doubt.untilMs = performance.now() + doubt.waitMs;
      } else report.unreachable++;
    }
  };
  const reporting = setInterval(() => {
    if (!process.connected) return;
    // the channel may have been closed meanwhile
    process.send?.(report, undefined, undefined, () => {});
    report = newReport();
  }, 250);
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (process.connected) await executeOnce();
    }),
  );
  clearInterval(reporting);
});
