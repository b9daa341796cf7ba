import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Endpoint, endpoints } from '../../lib/endpoints.ts';
import { close, listen, readBody } from '../local/http.ts';
import { startStack } from '../local/stack.ts';
import { benchmark } from './benchmark.ts';
import { formatTable } from './load.ts';
import { type Bundled, benchEvent } from './workers.ts';

interface Start {
  status: number;
  /** from the start of the process until it has answered */
  answerMs: number;
  memoryBytes: number;
}

/** What is started, and asked for its first answer. */
interface Started extends Bundled {
  name: string;
  event: unknown;
}

const usage = `npm run bench -- cold [--rounds 7] [--only NAMES]

Starts each function in a fresh process and measures the time to its first answer.
  --rounds  how many starts of each; the median counts
  --only    names of functions, separated by commas`;

const runtime = fileURLToPath(new URL('./cold-runtime.js', import.meta.url));

/**
 * Starts each function's bundle as Lambda does, in a fresh process that asks the Runtime API for work, and measures the time to its first answer.
 * The request is the endpoint's own, without token or body, so endpoints that need one answer 401, 400 or 415; the others ask real local parts.
 */
export const run = benchmark(usage, { rounds: 7, only: '' }, async ({ rounds, only }) => {
  const rows = endpoints.filter(({ name }) => !only || only.split(',').includes(name));
  const nothing = mkdtempSync(join(tmpdir(), 'cold-'));
  writeFileSync(join(nothing, 'index.mjs'), "export const handler = async () => ({ statusCode: 200, body: 'hello' });");
  const stack = await startStack({ port: 0, demo: false, quiet: true, environment: { POWERTOOLS_LOG_LEVEL: 'ERROR' } });
  const toStart = ({ name, method, path }: Endpoint): Started => {
    const pathParameters = { intent_uid: 'world.example:get-country:v1', service_id: '01HZZZZZZZZZZZZZZZZZZZZZZZ', agent_id: 'agent' };
    return { ...stack.definitionOf(name), name, event: benchEvent({ method, path, pathParameters, baseUrl: stack.base_url }) };
  };
  try {
    const report = [['function', 'bundle', 'first answer', 'beyond hello', 'memory', 'status']];
    let helloMs = 0;
    const hello = { name: 'hello (for comparison)', folder: nothing, environment: {}, event: {} };
    for (const started of [hello, ...rows.map(toStart)]) {
      const { status, answerMs, memoryBytes } = await measure(started, rounds);
      helloMs ||= answerMs;
      report.push([
        started.name,
        `${Math.round(statSync(join(started.folder, 'index.mjs')).size / 1000)} KB`,
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
});

async function measure(started: Started, rounds: number): Promise<Start> {
  const first = await startOnce(started);
  const starts = [first];
  while (starts.length < rounds) starts.push(await startOnce(started));
  return starts.sort((a, b) => a.answerMs - b.answerMs)[Math.floor(rounds / 2)] ?? first;
}

/** One process from its start to its first answer. */
async function startOnce({ name, folder, environment, event }: Started): Promise<Start> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<Omit<Start, 'answerMs'> & { atMs: number }>();
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.setHeader('Lambda-Runtime-Aws-Request-Id', 'bench');
      response.setHeader('Lambda-Runtime-Deadline-Ms', Date.now() + 29_000);
      response.end(JSON.stringify(event));
      return;
    }
    const atMs = performance.now();
    const body = await readBody(request, 10 * 2 ** 20);
    resolve({ atMs, status: JSON.parse(String(body)).statusCode, memoryBytes: Number(request.headers['x-memory-bytes']) });
    response.end();
  });
  const port = await listen(server);
  const startMs = performance.now();
  const child = spawn(process.execPath, [runtime, pathToFileURL(join(folder, 'index.mjs')).href], {
    env: { ...environment, AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  child.once('exit', (code) => code !== 0 && reject(new Error(`${name} ended with ${code} before it answered`)));
  try {
    const { atMs, ...start } = await answered;
    return { ...start, answerMs: atMs - startMs };
  } finally {
    await close(server);
  }
}
