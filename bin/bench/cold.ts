import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { variables } from '../../functions/core/environment.ts';
import { type Endpoint, endpoints } from '../../lib/endpoints.ts';
import { startKms } from '../local/kms.ts';
import { synthesize } from '../local/synthesis.ts';
import { startDynamo } from '../local/table.ts';
import { bundleOf, readTemplate } from '../local/template.ts';
import { benchTable, createBenchTable, tableVariables } from './bench-table.ts';
import { formatTable } from './load.ts';

interface Start {
  status: number;
  /** from the start of the process until it has answered */
  answerMs: number;
  memoryBytes: number;
}

const hello = 'hello (for comparison)';
const runtime = fileURLToPath(new URL('./cold-runtime.js', import.meta.url));

/**
 * Starts each function's bundle as Lambda does, in a fresh process that asks the Runtime API for work, and measures the time to its first answer.
 * The request is the endpoint's own, without token or body, so endpoints that need one answer 401, 400 or 415; the others ask real local parts.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { rounds: { type: 'string', default: '7' }, only: { type: 'string' } } });
  const rows = endpoints.filter(({ name }) => !values.only || values.only.split(',').includes(name));
  const folder = mkdtempSync(join(tmpdir(), 'cold-'));
  const parts = await startParts();
  try {
    const bundles = await bundle(folder);
    const report = [['function', 'bundle', 'first answer', 'beyond hello', 'memory', 'status']];
    let helloMs = 0;
    for (const row of [undefined, ...rows]) {
      const file = bundles(row?.name);
      const { status, answerMs, memoryBytes } = await measure(file, row, parts.environment, Number(values.rounds));
      helloMs ||= answerMs;
      report.push([
        row?.name ?? hello,
        `${Math.round(statSync(file).size / 1000)} KB`,
        `${Math.round(answerMs)} ms`,
        `${Math.round(answerMs - helloMs)} ms`,
        `${Math.round(memoryBytes / 2 ** 20)} MiB`,
        String(status),
      ]);
    }
    console.log(formatTable(report));
    console.log(`\nMedians of ${values.rounds} starts in fresh processes of Node ${process.versions.node} on this machine, one at a time.`);
  } finally {
    await parts.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Finds the bundles of functions, as they are deployed, by name; without a name, one that does nothing. */
async function bundle(folder: string): Promise<(name?: string) => string> {
  const nothing = join(folder, 'index.mjs');
  writeFileSync(nothing, "export const handler = async () => ({ statusCode: 200, body: 'hello' });");
  const synthesized = await synthesize({ stage: 'local' });
  const template = readTemplate(synthesized);
  return (name) => (name === undefined ? nothing : bundleOf(template, synthesized, name));
}

/** A table and a key of their own, and the environment that every function finds them by. */
async function startParts() {
  const [dynamo, kms] = await Promise.all([startDynamo(), startKms()]);
  await createBenchTable(dynamo.endpoint);
  const environment = {
    PATH: process.env.PATH,
    AWS_REGION: benchTable.region,
    AWS_ACCESS_KEY_ID: benchTable.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: benchTable.credentials.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
    AWS_ENDPOINT_URL_KMS: kms.endpoint,
    ...tableVariables,
    [variables.protocol]: 'proto',
    [variables.signingKeys]: kms.keyIds.join(','),
    [variables.patLifeSeconds]: '3600',
    [variables.issueLimitPerHour]: '60',
    [variables.userPool]: 'eu-west-1_Bench0000',
    [variables.adminClients]: 'bench',
    [variables.adminScope]: 'intent-gate/admin',
    [variables.egressPorts]: '443',
    [variables.credentialPrefix]: 'bench/',
  };
  return { environment, stop: () => Promise.all([dynamo.stop(), kms.stop()]) };
}

async function measure(file: string, row: Endpoint | undefined, environment: NodeJS.ProcessEnv, rounds: number): Promise<Start> {
  const starts: Start[] = [];
  for (let round = 0; round < rounds; round++) starts.push(await startOnce(file, row, environment));
  const [median] = starts.sort((a, b) => a.answerMs - b.answerMs).slice(Math.floor(rounds / 2));
  if (!median) throw new TypeError('--rounds must be at least 1');
  return median;
}

/** One process from its start to its first answer. */
async function startOnce(file: string, row: Endpoint | undefined, environment: NodeJS.ProcessEnv): Promise<Start> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<Omit<Start, 'answerMs'> & { atMs: number }>();
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.setHeader('Lambda-Runtime-Aws-Request-Id', 'bench');
      response.setHeader('Lambda-Runtime-Deadline-Ms', Date.now() + 29_000);
      response.end(JSON.stringify(eventFor(row)));
      return;
    }
    const atMs = performance.now();
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    resolve({ atMs, status: JSON.parse(body).statusCode, memoryBytes: Number(request.headers['x-memory-bytes']) });
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const startMs = performance.now();
  const child = spawn(process.execPath, [runtime, pathToFileURL(file).href], {
    env: { ...environment, AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${(server.address() as AddressInfo).port}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  child.once('exit', (code) => code !== 0 && reject(new Error(`${row?.name ?? hello} ended with ${code} before it answered`)));
  try {
    const { atMs, ...start } = await answered;
    return { ...start, answerMs: atMs - startMs };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** What API Gateway would send for a request to the endpoint's path. */
function eventFor(row: Endpoint | undefined): object {
  const { method = 'GET', path = '/' } = row ?? {};
  return {
    httpMethod: method,
    path,
    resource: path,
    headers: {},
    multiValueHeaders: {},
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: { intent_uid: 'world.example:get-country:v1', service_id: '01HZZZZZZZZZZZZZZZZZZZZZZZ', agent_id: 'agent' },
    body: null,
    isBase64Encoded: false,
    requestContext: { requestId: 'bench', stage: 'live', path: `/live${path}`, domainName: 'api.example.com' },
  };
}
