/** The thread of {@link ./load.ts}. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { parentPort, workerData } from 'node:worker_threads';
import type { Load } from './load.ts';

const { url, headers = {}, body, requests, concurrency } = workerData as Load;
const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
const latenciesMs = new Float64Array(requests);
let sent = 0;

async function sendOne(index: number): Promise<void> {
  const startedMs = performance.now();
  const sending = request(url, { agent, method: body === undefined ? 'GET' : 'POST', headers }).end(body);
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  const answer = await text(response);
  latenciesMs[index] = performance.now() - startedMs;
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}: ${answer.slice(0, 500)}`);
}

const startedMs = performance.now();
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (sent < requests) await sendOne(sent++);
  }),
);
parentPort?.postMessage({ latenciesMs, elapsedMs: performance.now() - startedMs });
agent.destroy();
