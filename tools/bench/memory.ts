import { nodeOptions } from '../../lib/environment.ts';
import { intentUid, register } from './costs.ts';
import { obtainPat, startGate } from './gate.ts';
import { formatTable, inMb, percentile, turns, warmUpOf } from './load.ts';
import { dollarsPerMillion } from './prices.ts';
import { benchEvent, runAlone, startThread } from './workers.ts';

const memoriesMb = [256, 512, 1_024, 1_769];
const upstreamSeconds = [0.1, 0.3, 1];

/** The largest answer that the gate accepts, and a usual one, in bytes. */
const answers = { small: 1_000, large: 1_000_000 };

/** Measures what `execute-intent` and `mcp` need per execution, and computes what they cost with different memory. */
export async function measureMemory({ intents, runs }: { intents: number; runs: number }): Promise<void> {
  await using upstream = await startThread('./upstream-worker.ts');
  await using gate = await startGate();
  const { stack } = gate;
  await register(stack.base_url, stack.admin_token, upstream.url, intents);
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${await obtainPat(stack.base_url)}` };
  const post = (path: string, body: object) =>
    benchEvent({ method: 'POST', path, baseUrl: stack.base_url, headers, body: JSON.stringify(body) });
  const call = (name: string, args: object) =>
    post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
  const execution = (bytes: number) => ({ intent_uid: intentUid, parameters: { bytes } });
  const search = call('search_intents', { query: 'operation' });
  const events: [name: string, title: string, event: unknown, count: number][] = [
    ['execute-intent', 'answers of 1 kB', post('/api/intents/execute', execution(answers.small)), runs],
    ['execute-intent', 'answers of 1 MB', post('/api/intents/execute', execution(answers.large)), runs / 10],
    ['mcp', 'answers of 1 kB', call('execute_intent', execution(answers.small)), runs],
    ['mcp', 'searches', search, runs],
    ['mcp', 'searches, and answers of 1 MB', [search, call('execute_intent', execution(answers.large))], runs / 10],
  ];
  const report = [['function', 'work', 'processor, ms', 'memory', 'peak']];
  let executionMs = 0;
  for (const [name, title, event, count] of events) {
    const { folder, environment } = stack.definitionOf(name);
    const bundled = { folder, environment: { ...environment, LOG_LEVEL: 'SILENT', NODE_OPTIONS: nodeOptions } };
    const rounds = [];
    while (rounds.length < turns) rounds.push(await runAlone(bundled, { event, warmUp: warmUpOf(count), runs: count }, { execArgv: [] }));
    const median = (values: number[]) => percentile(values, 0.5);
    const processorMs = median(rounds.map((round) => round.processorMs));
    executionMs ||= processorMs;
    const memory = [rounds.map(({ after }) => after.resident), rounds.map(({ after }) => after.peak)].map((bytes) => inMb(median(bytes)));
    report.push([name, title, processorMs.toFixed(1), ...memory]);
  }
  console.log(`\nMedians of ${turns} rounds in fresh processes of Node ${process.versions.node}, ${intents} intents\n`);
  console.log(formatTable(report));
  console.log(`\nLambda, dollars per million executions of ${executionMs.toFixed(1)} ms, by the time that the service takes\n`);
  const rows = memoriesMb.map((memoryMb) => [
    `${memoryMb} MB`,
    ...upstreamSeconds.map((seconds) => dollarsPerMillion(memoryMb, executionMs, seconds).toFixed(2)),
  ]);
  console.log(formatTable([['memory', ...upstreamSeconds.map((seconds) => `${seconds} s`)], ...rows]));
}
