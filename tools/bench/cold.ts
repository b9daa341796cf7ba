import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '../../bin/local/stack.ts';
import { type Endpoint, endpoints, hasFunction } from '../../lib/endpoints.ts';
import { formatTable } from './load.ts';
import { type Bundled, benchEvent, runAlone } from './workers.ts';

interface Started extends Bundled {
  name: string;
  event: unknown;
}

/**
 * Starts each function's bundle in a fresh process and measures the time to its first response. Requests have no token or body, so endpoints that need
 * one return 401, 400 or 415; the others use the real local stand-ins.
 */
export async function measureColdStarts({ rounds, only }: { rounds: number; only?: string }): Promise<void> {
  const rows = endpoints.filter((row) => hasFunction(row) && (only === undefined || only.split(',').includes(row.name)));
  const nothing = mkdtempSync(join(tmpdir(), 'cold-'));
  writeFileSync(join(nothing, 'index.cjs'), "exports.handler = async () => ({ statusCode: 200, body: 'hello' });");
  const stack = await startStack({ port: 0, demo: false, quiet: true, environment: { LOG_LEVEL: 'ERROR' } });
  const toStart = ({ name, method, path }: Endpoint): Started => {
    const pathParameters = { intent_uid: 'world.example:get-country:v1', service_id: '01HZZZZZZZZZZZZZZZZZZZZZZZ', agent_id: 'agent' };
    return { ...stack.definitionOf(name), name, event: benchEvent({ method, path, pathParameters, baseUrl: stack.base_url }) };
  };
  try {
    const report = [['function', 'bundle', 'first answer', 'added to hello', 'memory', 'status']];
    let helloMs = 0;
    const hello = { name: 'hello (for comparison)', folder: nothing, environment: {}, event: {} };
    for (const started of [hello, ...rows.map(toStart)]) {
      const { status, answerMs, memoryBytes } = await measure(started, rounds);
      helloMs ||= answerMs;
      report.push([
        started.name,
        `${Math.round(statSync(join(started.folder, 'index.cjs')).size / 1000)} KB`,
        `${Math.round(answerMs)} ms`,
        `${Math.round(answerMs - helloMs)} ms`,
        `${Math.round(memoryBytes / 2 ** 20)} MiB`,
        String(status),
      ]);
    }
    console.log(formatTable(report));
    console.log(`\nMedians of ${rounds} starts in fresh processes of Node ${process.versions.node} on this machine, one at a time.`);
  } finally {
    await stack.stop();
    rmSync(nothing, { recursive: true });
  }
}

async function measure(started: Started, rounds: number) {
  const first = await startOnce(started);
  const starts = [first];
  while (starts.length < rounds) starts.push(await startOnce(started));
  return starts.sort((a, b) => a.answerMs - b.answerMs)[Math.floor(rounds / 2)] ?? first;
}

async function startOnce({ event, ...bundled }: Started) {
  const startMs = performance.timeOrigin + performance.now();
  const { status, endedMs, after } = await runAlone(bundled, { event, warmUp: 0, runs: 1, mayRefuse: true }, { execArgv: [] });
  return { status, answerMs: endedMs - startMs, memoryBytes: after.resident };
}
