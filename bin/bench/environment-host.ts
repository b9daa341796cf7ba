/**
 * A process with one Lambda environment and nothing else: runs the bundle at `argv[2]` on one event again and again, one at a time,
 * and says how long each run took and how much memory the process uses.
 */
import { pathToFileURL } from 'node:url';

export interface HostTask {
  event: unknown;
  warmUp: number;
  runs: number;
}

export interface HostReport {
  latenciesMs: number[];
  loaded: Memory;
  after: Memory;
}

/** Resident bytes of the process, and bytes of its heap that are in use. */
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

const { handler } = await import(pathToFileURL(process.argv[2] ?? '').href);
const loaded = measureMemory();

process.once('message', async ({ event, warmUp, runs }: HostTask) => {
  const context = { getRemainingTimeInMillis: () => 29_000 };
  const run = async () => {
    const startedMs = performance.now();
    const { statusCode, body } = await handler(structuredClone(event), context);
    if (statusCode !== 200) throw new Error(`the function answered ${statusCode}: ${body}`);
    return performance.now() - startedMs;
  };
  for (let index = 0; index < warmUp; index++) await run();
  const latenciesMs: number[] = [];
  for (let index = 0; index < runs; index++) latenciesMs.push(await run());
  const report: HostReport = { latenciesMs, loaded, after: measureMemory() };
  process.send?.(report, undefined, {}, () => process.disconnect());
});
