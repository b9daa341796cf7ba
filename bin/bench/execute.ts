import { benchEvent, runAlone } from './alone.ts';
import { describeExecutions } from './execute-report.ts';
import { type BenchedGate, startGate } from './gate.ts';
import { drive, measureWays, readCounts, summarize, warmUpOf } from './load.ts';
import type { TableWork } from './table-work.ts';
import { startThread } from './thread.ts';

const usage = `npm run bench -- execute [--executions 2000] [--concurrency 16]

Executes an intent through the local stack and compares that with calling its upstream directly and with a plain Node reverse proxy.
  --executions   how many, of each
  --concurrency  how many at once when executions per second are measured`;

export async function run(args: string[]): Promise<void> {
  const counts = readCounts(args);
  if (counts === undefined) return console.log(usage);
  const { executions, concurrency } = counts;

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

/** What the table and KMS have to do for `executions`, one after another. */
async function measureWork({ baseUrl, headers, body, dynamo, kmsOperations }: BenchedGate, executions: number) {
  await dynamo.ask();
  kmsOperations.length = 0;
  await drive({ url: `${baseUrl}/api/intents/execute`, headers, body, requests: executions, concurrency: 1 });
  return { tableWork: await dynamo.ask<TableWork>(), kmsCalls: kmsOperations.length };
}

/** The function in a process of its own, without the stand-in for API Gateway. */
async function measureAlone(gate: BenchedGate, executions: number) {
  const warmUp = warmUpOf(executions);
  await gate.dynamo.ask();
  const { latenciesMs, ...rest } = await runAlone(gate.bundle, gate.environment, { event: eventOf(gate), warmUp, runs: executions });
  const { busyMs } = await gate.dynamo.ask<TableWork>();
  return { latencyMs: summarize(Float64Array.from(latenciesMs)), dynamoMs: busyMs / (warmUp + executions), ...rest };
}

const eventOf = ({ baseUrl, headers, body }: BenchedGate): unknown =>
  benchEvent({ method: 'POST', path: '/api/intents/execute', baseUrl, headers, body });
