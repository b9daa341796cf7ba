/**
 * A process with a single Lambda environment, which runs a bundle repeatedly with one event, or with several in turn, and reports. Plain JavaScript, because stripping
 * types takes time and memory.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Measures memory in bytes; the heap after a garbage collection if `--expose-gc` is set. */
function measureMemory() {
  const resident = process.memoryUsage.rss();
  globalThis.gc?.();
  return { resident, heap: process.memoryUsage().heapUsed };
}

process.once('message', async ({ folder, event, warmUp, runs, mayRefuse }) => {
  const { handler } = await import(pathToFileURL(join(folder, 'index.cjs')).href);
  const loaded = measureMemory();
  const context = { awsRequestId: 'bench', getRemainingTimeInMillis: () => 29_000 };
  let status;
  const events = [event].flat();
  let turn = 0;
  const run = async () => {
    const received = structuredClone(events[turn++ % events.length]);
    const startedMs = performance.now();
    const { statusCode, body } = await handler(received, context);
    if (statusCode !== 200 && !mayRefuse) throw new Error(`the function answered ${statusCode}: ${body}`);
    status = statusCode;
    return performance.now() - startedMs;
  };
  for (let index = 0; index < warmUp; index++) await run();
  const latenciesMs = [];
  const before = process.cpuUsage();
  for (let index = 0; index < runs; index++) latenciesMs.push(await run());
  const endedMs = performance.timeOrigin + performance.now();
  const { user, system } = process.cpuUsage(before);
  const after = { ...measureMemory(), peak: process.resourceUsage().maxRSS * 1_024 };
  const report = { status, endedMs, latenciesMs, processorMs: (user + system) / 1_000 / runs, loaded, after };
  process.send(report, undefined, {}, () => process.disconnect());
});
