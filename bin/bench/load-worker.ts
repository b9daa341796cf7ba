/** The thread of {@link ./load.ts}. */
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { Load, LoadResult } from './load.ts';

const { url, headers = {}, body, requests, concurrency } = workerData as Load;
const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
const latenciesMs = new Float64Array(requests);
let sent = 0;

const send = () =>
  new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    request(url, { agent, method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part) => {
          text += part;
        })
        .on('end', () => resolve({ status: response.statusCode, text }))
        .on('error', reject);
    })
      .on('error', reject)
      .end(body);
  });

async function sendOne(index: number): Promise<void> {
  const startedMs = performance.now();
  const { status, text } = await send();
  latenciesMs[index] = performance.now() - startedMs;
  if (status !== 200) throw new Error(`${url} answered ${status}: ${text.slice(0, 500)}`);
}

const startedMs = performance.now();
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (sent < requests) await sendOne(sent++);
  }),
);
const result: LoadResult = { latenciesMs, elapsedMs: performance.now() - startedMs };
agent.destroy();
parentPort?.postMessage(result);
