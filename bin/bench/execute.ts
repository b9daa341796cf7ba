import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Resource } from '../local/api-definition.ts';
import { toProxyEvent } from '../local/gateway-event.ts';
import type { HostReport } from './environment-host.ts';
import { describeExecutions, type Measured } from './execute-report.ts';
import { type BenchedGate, startGate } from './gate.ts';
import { drive, type Load, summarize } from './load.ts';
import type { TableWork } from './table-work.ts';
import { startThread } from './thread.ts';

const usage = `npm run bench -- execute [--executions 2000] [--concurrency 16]

Executes an intent through the local stack and compares that with calling its upstream directly and with a plain Node reverse proxy.
  --executions   how many, of each
  --concurrency  how many at once where executions per second are measured`;

/** The ways are measured in turns, so that what else the machine does falls on all of them. */
const turns = 5;

const warmUpOf = (executions: number): number => Math.min(300, executions);

export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      executions: { type: 'string', default: '2000' },
      concurrency: { type: 'string', default: '16' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return console.log(usage);
  const executions = readCount('executions', values.executions);
  const concurrency = readCount('concurrency', values.concurrency);

  const gate = await startGate();
  const proxy = await startThread('./proxy-worker.ts', { target: gate.upstream.url });
  try {
    const { headers, body, baseUrl, upstream } = gate;
    const direct = { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(JSON.parse(body).parameters) };
    const measured = await measureWays(
      {
        direct: { url: `${upstream.url}/echo`, ...direct },
        proxy: { url: `${proxy.url}/echo`, ...direct },
        gate: { url: `${baseUrl}/api/intents/execute`, headers, body },
      },
      executions,
      concurrency,
    );
    const work = await measureWork(gate, executions);
    const alone = await measureAlone(gate, executions);
    console.log(describeExecutions({ executions, concurrency, ...measured, ...work, alone }));
  } finally {
    await proxy.stop();
    await gate.stop();
  }
}

function readCount(name: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new RangeError(`--${name} must be a whole number from 1 to 9999999`);
  return Number(text);
}

type Way = Omit<Load, 'requests' | 'concurrency'>;

async function measureWays<T extends string>(ways: Record<T, Way>, executions: number, concurrency: number): Promise<Record<T, Measured>> {
  const requests = Math.ceil(executions / turns);
  const samples = Object.entries<Way>(ways).map(([name, way]) => ({ name, way, latenciesMs: [] as number[], elapsedMs: 0 }));
  for (const { way } of samples) await drive({ ...way, requests: warmUpOf(executions), concurrency });
  for (let turn = 0; turn < turns; turn++) {
    for (const sample of samples) {
      sample.latenciesMs.push(...(await drive({ ...sample.way, requests, concurrency: 1 })).latenciesMs);
      sample.elapsedMs += (await drive({ ...sample.way, requests, concurrency })).elapsedMs;
    }
  }
  return Object.fromEntries(
    samples.map(({ name, latenciesMs, elapsedMs }) => {
      const latencyMs = summarize(Float64Array.from(latenciesMs));
      return [name, { latencyMs, perSecond: (requests * turns * 1_000) / elapsedMs }];
    }),
  ) as Record<T, Measured>;
}

/** What the table and KMS have to do for `executions`, one after another. */
async function measureWork({ baseUrl, headers, body, dynamo, kmsOperations }: BenchedGate, executions: number) {
  await dynamo.ask();
  kmsOperations.length = 0;
  await drive({ url: `${baseUrl}/api/intents/execute`, headers, body, requests: executions, concurrency: 1 });
  return { tableWork: await dynamo.ask<TableWork>(), kmsCalls: kmsOperations.length };
}

/** The function in a process of its own, without the stand-in for API Gateway. */
async function measureAlone(gate: BenchedGate, executions: number) {
  const child = fork(fileURLToPath(new URL('./environment-host.ts', import.meta.url)), [gate.bundle], {
    env: gate.environment,
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const warmUp = warmUpOf(executions);
  await gate.dynamo.ask();
  child.send({ event: eventOf(gate), warmUp, runs: executions });
  const ended = once(child, 'exit').then(() => [undefined]);
  const [report] = (await Promise.race([once(child, 'message'), ended])) as [HostReport | undefined];
  if (!report) throw new Error('the function could not be run in a process of its own');
  await ended;
  const { busyMs } = await gate.dynamo.ask<TableWork>();
  const { latenciesMs, ...rest } = report;
  return { latencyMs: summarize(Float64Array.from(latenciesMs)), dynamoMs: busyMs / (warmUp + executions), ...rest };
}

function eventOf({ baseUrl, headers, body }: BenchedGate): unknown {
  const path = '/api/intents/execute';
  const request = {
    method: 'POST',
    path,
    query: '',
    headers: Object.entries(headers),
    requestId: 'bench',
    domainName: new URL(baseUrl).host,
    sourceIp: '127.0.0.1',
    startedMs: Date.now(),
  };
  return toProxyEvent(request, { resource: { path } as Resource, pathParameters: {} }, Buffer.from(body));
}
