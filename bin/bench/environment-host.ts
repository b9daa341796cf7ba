/**
 * A process with one Lambda environment and nothing else: runs a bundle on one event again and again, one at a time,
 * and says how long each run took, what it cost the processor, and how much memory the process holds.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface HostTask {
  /** holds the bundle */
  folder: string;
  event: unknown;
  warmUp: number;
  runs: number;
}

export interface HostReport {
  latenciesMs: number[];
  /** processor time of one run, of all the process's threads */
  processorMs: number;
  loaded: Memory;
  after: Memory;
}

/** Bytes that the process holds, and bytes of its heap that are in use. */
export interface Memory {
  resident: number;
  heap: number;
}

/** Needs `--expose-gc`. */
function measureMemory(): Memory {
  const resident = process.memoryUsage.rss();
  globalThis.gc?.();
  return { resident, heap: process.memoryUsage().heapUsed };
}

process.once('message', async ({ folder, event, warmUp, runs }: HostTask) => {
  const { handler } = await import(pathToFileURL(join(folder, 'index.mjs')).href);
  const loaded = measureMemory();
  const context = { getRemainingTimeInMillis: () => 29_000 };
  const run = async () => {
    const received = structuredClone(event);
    const startedMs = performance.now();
    const { statusCode, body } = await handler(received, context);
    if (statusCode !== 200) throw new Error(`the function answered ${statusCode}: ${body}`);
    return performance.now() - startedMs;
  };
  for (let index = 0; index < warmUp; index++) await run();
  const latenciesMs: number[] = [];
  const before = process.cpuUsage();
  for (let index = 0; index < runs; index++) latenciesMs.push(await run());
  const { user, system } = process.cpuUsage(before);
  const report: HostReport = { latenciesMs, processorMs: (user + system) / 1_000 / runs, loaded, after: measureMemory() };
  process.send?.(report, undefined, {}, () => process.disconnect());
});
