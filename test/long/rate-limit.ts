/**
 * The promise about the rate, at length: separate processes execute for agents that share counters, while a part of the table's answers is
 * lost after the writes took effect, delayed or doubled, the clocks of some are ahead or behind, and some calls are made long after they were counted. Then every window of `period` seconds of every agent is checked.
 * `node test/long/rate-limit.ts [--executions 1000000] [--agents 30] [--processes 4] [--concurrency 8] [--lost 0.2] [--delayed 0.05] [--doubled 0.05] [--dawdling 0.05] [--skew 5000] [--seed 1]`
 * `--skew`: of three processes, the clock of the second is so many milliseconds ahead, and that of the third behind
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { RateLimit } from '../../schemas/pat.ts';
import { openFaultyTable } from '../support/faulty-table.ts';
import { readNumbers } from './options.ts';
import type { Asked, Report, Task, Told } from './rate-limit-worker.ts';

const options = readNumbers({
  executions: 1_000_000,
  agents: 30,
  processes: 4,
  concurrency: 8,
  lost: 0.2,
  delayed: 0.05,
  doubled: 0.05,
  dawdling: 0.05,
  skew: 0,
  seed: 1,
});
const { executions, concurrency, dawdling } = options;

/** Rates that are used up all the time, and periods so short that buckets end all the time; one limit, or several at once. */
const policies: RateLimit[][] = [
  [{ rate: 1, period: 1 }],
  [{ rate: 20, period: 2 }],
  [{ rate: 100, period: 5 }],
  [{ rate: 300, period: 10 }],
  [{ rate: 1_000, period: 20 }],
  [
    { rate: 10, period: 1 },
    { rate: 15, period: 2 },
    { rate: 30, period: 10 },
  ],
];
const agents = Array.from({ length: options.agents }, (_, index) => ({
  thumbprint: `agent-${index}`,
  limits: policies[index % policies.length] as RateLimit[],
}));

const faults = { dropAfter: options.lost, delay: options.delayed, duplicate: options.doubled };
const store = openFaultyTable(faults, options.seed);
const made = agents.map((): number[] => []);
const totals = { executed: 0, refused: 0, late: 0, doubtful: 0, unreachable: 0 };
const startedMs = Date.now();

const task: Omit<Task, 'skewMs'> = { agents, concurrency, dawdling };
const processes = Array.from(
  { length: options.processes },
  (): ChildProcess => fork(new URL('./rate-limit-worker.ts', import.meta.url), { serialization: 'advanced' }),
);
/** Executions by each process. */
const shares = processes.map(() => 0);
for (const [index, child] of processes.entries()) {
  const take = ({ executed, refused, late, doubtful, unreachable }: Report) => {
    for (const [agent, timeMs] of executed) made[agent]?.push(timeMs);
    totals.executed += executed.length;
    shares[index] = (shares[index] ?? 0) + executed.length;
    totals.refused += refused;
    totals.late += late;
    totals.doubtful += doubtful;
    totals.unreachable += unreachable;
    if (totals.executed >= executions && child.connected) for (const each of processes) each.disconnect();
  };
  child.on('message', async (message: Asked | Report) => {
    if (!('request' in message)) return take(message);
    const answer = await store.send(message.request);
    if (child.connected) child.send({ id: message.id, answer } satisfies Told, () => {});
  });
  child.send({ ...task, skewMs: ([0, 1, -1][index % 3] ?? 0) * options.skew } satisfies Task);
}
const progress = setInterval(() => console.log(`${totals.executed} of ${executions} executions`), 10_000);
await Promise.all(processes.map((child) => once(child, 'exit')));
clearInterval(progress);

/** How many calls began a window of the `period` of any limit that contains more than its `rate` of calls. */
const violations = made.flatMap((timesMs, agent) => {
  const sorted = timesMs.toSorted((a, b) => a - b);
  return (agents[agent] as (typeof agents)[0]).limits.map(
    ({ rate, period }) =>
      sorted.filter((timeMs, index) => (sorted[index + rate] ?? Number.POSITIVE_INFINITY) - timeMs < period * 1_000).length,
  );
});
const total = violations.reduce((sum, count) => sum + count, 0);
console.log(
  `${totals.executed} executions by ${processes.length} processes (${shares.join(', ')}) in ${Math.round((Date.now() - startedMs) / 1_000)} s`,
);
console.log(
  `${totals.refused} refused (429), 503: ${totals.late} not counted in time, ${totals.doubtful} time not known well enough, ${totals.unreachable} table out of reach`,
);
console.log(
  `${store.counts.requests} requests to the table: ${store.counts.dropAfter} answers lost, ${store.counts.delay} late, ${store.counts.duplicate} doubled`,
);
console.log(`${total} executions above the rate in any window of its period`);
process.exitCode = total === 0 ? 0 : 1;
