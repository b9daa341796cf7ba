import { openHttp } from '../../client/http.ts';
import { nodeOptions } from '../../lib/environment.ts';
import { describeExecutions, type ExecutionFigures } from './execute-report.ts';
import { floorOf } from './floor.ts';
import { obtainPat, startGate } from './gate.ts';
import { drive, measureVariants, turns, warmUpOf } from './load.ts';
import type { TableWork } from './table-work.ts';
import { benchEvent, runAlone, startThread } from './workers.ts';

export const path = '/api/intents/execute';
export const intentUid = 'bench.example:echo:v1';
export const parameters = { text: 'How far is it from Zurich to Lugano?', count: 3 };

export async function measureExecutions({ executions, concurrency }: { executions: number; concurrency: number }): Promise<void> {
  await using upstream = await startThread('./upstream-worker.ts');
  await using benched = await startGate();
  const { stack, dynamo } = benched;
  const { base_url: baseUrl } = stack;
  await register(baseUrl, stack.admin_token, upstream.url);
  const headers = { 'Content-Type': 'application/json' };
  const token = await obtainPat(baseUrl);
  const direct = { headers, body: JSON.stringify(parameters) };
  const execution = {
    headers: { ...headers, Authorization: `Bearer ${token}` },
    body: JSON.stringify({ intent_uid: intentUid, parameters }),
  };
  const gate = { url: `${baseUrl}${path}`, ...execution };
  const measured = await measureVariants({ direct: { url: `${upstream.url}/echo`, ...direct }, gate }, executions, concurrency);

  await dynamo.ask();
  stack.kmsOperations.length = 0;
  await drive({ ...gate, requests: executions, concurrency: 1 });
  const work = { tableWork: await dynamo.ask<TableWork>(), kmsCalls: stack.kmsOperations.length };

  const warmUp = warmUpOf(executions);
  const { folder, environment } = stack.definitionOf('execute-intent');
  const event = benchEvent({ method: 'POST', path, baseUrl, ...execution });
  const floor = await floorOf(work.tableWork, {
    dynamoUrl: dynamo.url,
    upstream: { url: `${upstream.url}/echo`, ...direct },
    baseUrl,
    token,
  });
  const bundled = { environment: { ...environment, LOG_LEVEL: 'SILENT', NODE_OPTIONS: nodeOptions } };
  const rounds: ExecutionFigures['rounds'][number][] = [];
  let busyMs = 0;
  while (rounds.length < turns) {
    await dynamo.ask();
    const alone = await runAlone({ ...bundled, folder }, { event, warmUp, runs: executions });
    busyMs += (await dynamo.ask<TableWork>()).busyMs;
    const measureFloor = (folder: string) => runAlone({ ...bundled, folder }, { event: floor.event, warmUp, runs: executions });
    rounds.push({ alone, floor: await measureFloor(floor.folders.floor), sdk: await measureFloor(floor.folders.sdk) });
  }
  const dynamoMs = busyMs / (turns * (warmUp + executions));
  console.log(describeExecutions({ executions, concurrency, ...measured, ...work, rounds, dynamoMs }));
}

/** Registers the intent. */
export async function register(baseUrl: string, bearer: string, upstreamUrl: string): Promise<void> {
  const http = openHttp({ url: baseUrl });
  const service = { service_name: 'Benchmark', service_url: 'https://bench.example', description: 'Answers what it is sent.' };
  const saved = await http.send('POST', '/api/services', { bearer, body: service });
  const described = [
    { name: 'text', type: 'string', required: true, description: 'Any text.' },
    { name: 'count', type: 'integer', required: true, description: 'Any number.' },
  ];
  await http.send('POST', `/api/services/${(saved.body as { service_id: string }).service_id}/intents`, {
    bearer,
    body: {
      intent_uid: intentUid,
      intent_name: 'Echo',
      description: 'Answers its parameters.',
      input_parameters: described,
      output_parameters: described,
      endpoint: `${upstreamUrl}/echo`,
    },
  });
}
