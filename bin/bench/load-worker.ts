/** The thread of {@link ./load.ts}. */
import { parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import type { Load, LoadResult } from './load.ts';

const { url, headers, body, requests, concurrency } = workerData as Load;
const { origin, pathname } = new URL(url);
const pool = new Pool(origin, { connections: concurrency });
const latenciesMs = new Float64Array(requests);
let sent = 0;

async function sendOne(index: number): Promise<void> {
  const startedMs = performance.now();
  const answer = await pool.request({ method: body === undefined ? 'GET' : 'POST', path: pathname, headers, body: body ?? null });
  const text = await answer.body.text();
  latenciesMs[index] = performance.now() - startedMs;
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 500)}`);
}

const startedMs = performance.now();
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (sent < requests) await sendOne(sent++);
  }),
);
const result: LoadResult = { latenciesMs, elapsedMs: performance.now() - startedMs };
await pool.close();
parentPort?.postMessage(result);
