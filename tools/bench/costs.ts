import { openHttp } from '../../client/http.ts';
import { nodeOptions } from '../../lib/environment.ts';
import type { PolicyFile } from './gate.ts';
import { obtainPat, startGate } from './gate.ts';
import { formatTable, inMs, percentile, turns } from './load.ts';
import { type BenchedRequest, benchEvent, runAlone, startThread } from './workers.ts';

export const intentUid = 'bench.example:operation-0:v1';
const execution = '/api/intents/execute';
const search = '/api/intents/search';
/** Numbers of prohibitions, none of which concerns an intent of the benchmark. */
const prohibitionCounts = [0, 300];
const answerBytes = [1_000, 10_000, 100_000, 1_000_000];

type Kind = 'intents' | 'tags';

const prohibit =
  (count: number, kind: Kind) =>
  (policy: PolicyFile): void => {
    const each = Array.from({ length: count }, (_, at) =>
      kind === 'intents'
        ? { target: `{base_url}/api/intents/other.example:operation-${at}:v1` }
        : {
            target: '{base_url}/api/intents',
            constraint: [{ leftOperand: '{base_url}/vocabulary/tag', operator: 'eq', rightOperand: `other-${at}` }],
          },
    );
    policy.prohibition = [...(policy.prohibition ?? []), ...each.map((rule) => ({ ...rule, action: 'execute' }))];
  };

/** Registers so many intents, each of which answers with as many bytes as requested. */
export async function register(baseUrl: string, bearer: string, upstreamUrl: string, count: number): Promise<void> {
  const http = openHttp({ url: baseUrl });
  const service = { service_name: 'Benchmark', service_url: 'https://bench.example', description: 'Answers what it is asked for.' };
  const saved = await http.send('POST', '/api/services', { bearer, body: service });
  const path = `/api/services/${(saved.body as { service_id: string }).service_id}/changes`;
  const intents = Array.from({ length: count }, (_, at) => ({
    intent_uid: intentUid.replace('-0:', `-${at}:`),
    intent_name: `Operation ${at}`,
    description: 'Answers with as many bytes as requested.',
    tags: ['benchmark'],
    input_parameters: [{ name: 'bytes', type: 'integer', required: true, description: 'The size of the answer.' }],
    output_parameters: [],
    endpoint: { url: `${upstreamUrl}/json`, method: 'GET' },
  }));
  for (let from = 0; from < count; from += 30) await http.send('POST', path, { bearer, body: { create: intents.slice(from, from + 30) } });
}

/** Measures what the number of prohibitions adds to searches and executions, and what the size of an answer adds to an execution. */
export async function measureCosts({ intents, runs }: { intents: number; runs: number }): Promise<void> {
  await using upstream = await startThread('./upstream-worker.ts');
  const medians = new Map<string, number>();

  for (const kind of ['intents', 'tags'] as const) {
    await using none = await openMeasured(0, kind);
    await using many = await openMeasured(prohibitionCounts[1] ?? 0, kind);
    const requests = {
      search: { method: 'GET', path: search, query: 'query=operation' },
      'search with permitted=true': { method: 'GET', path: search, query: 'query=operation&permitted=true' },
      execution: { method: 'POST', path: execution, body: JSON.stringify({ intent_uid: intentUid, parameters: { bytes: 100 } }) },
    };
    const rows = [];
    for (const [name, request] of Object.entries(requests)) {
      const times: [number, number][] = [];
      for (let turn = 0; turn < turns; turn++) times.push([await none.run(request), await many.run(request)]);
      const ratios = times.map(([without, withMany]) => withMany / without);
      rows.push([
        name,
        ...[0, 1].map((at) =>
          inMs(
            percentile(
              times.map((pair) => pair[at] ?? 0),
              0.5,
            ),
          ),
        ),
        `${inMs(percentile(ratios, 0.5))} (${inMs(Math.min(...ratios))} to ${inMs(Math.max(...ratios))})`,
      ]);
    }
    console.log(`\nProhibitions of ${kind}, ${intents} intents; milliseconds of processor time, medians of ${turns} rounds\n`);
    console.log(formatTable([['', ...prohibitionCounts.map((count) => `${count} prohibitions`), 'ratio'], ...rows]));
    if (kind === 'tags') for (const bytes of answerBytes) medians.set(inMb(bytes), await answering(none, bytes));
  }
  console.log('\nAn execution, by the size of its JSON answer; milliseconds of processor time\n');
  console.log(formatTable([['answer', 'processor time'], ...[...medians].map(([name, time]) => [name, inMs(time)])]));

  async function openMeasured(count: number, kind: Kind) {
    const gate = await startGate(prohibit(count, kind));
    const { stack } = gate;
    await register(stack.base_url, stack.admin_token, upstream.url, intents);
    const token = await obtainPat(stack.base_url);
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    return {
      /** Milliseconds of processor time. */
      run: async ({ method, path, query = '', body }: Omit<BenchedRequest, 'baseUrl'>, count = runs): Promise<number> => {
        const { folder, environment } = stack.definitionOf(path === execution ? 'execute-intent' : 'search-intents');
        const event = benchEvent({ method, path, query, baseUrl: stack.base_url, ...(body !== undefined && { headers, body }) });
        const bundled = { folder, environment: { ...environment, LOG_LEVEL: 'SILENT', NODE_OPTIONS: nodeOptions } };
        return (await runAlone(bundled, { event, warmUp: Math.min(300, count), runs: count })).processorMs;
      },
      [Symbol.asyncDispose]: gate[Symbol.asyncDispose],
    };
  }

  async function answering({ run }: Awaited<ReturnType<typeof openMeasured>>, bytes: number): Promise<number> {
    const body = JSON.stringify({ intent_uid: intentUid, parameters: { bytes } });
    const times = [];
    for (let turn = 0; turn < turns; turn++) times.push(await run({ method: 'POST', path: execution, body }, Math.ceil(runs / 5)));
    return percentile(times, 0.5);
  }
}

const inMb = (bytes: number): string => `${bytes / 1_000} kB`;
