import { setTimeout as sleep } from 'node:timers/promises';
import { openApi } from '../../registry/api.ts';
import { applyChanges } from '../../registry/apply.ts';
import { compareService, type ServiceChanges } from '../../registry/compare.ts';
import { concurrently } from '../../registry/concurrently.ts';
import { servicePath } from '../../registry/read.ts';
import { benchmark } from './benchmark.ts';
import { startGate } from './gate.ts';
import { formatTable, percentile } from './load.ts';
import type { TableWork } from './table-work.ts';

const usage = `npm run bench -- changes [--intents 1200] [--rest 60]

Creates intents through a gate on this machine, one by one and in batches, by one writer and by several. All write the head of one log: transactions
beyond the number of requests are those that another writer was ahead of. Then it searches, right after and later.
  --intents  how many are created in each way; rounded down to a multiple of 4
  --rest     how many seconds later the later searches are made`;

const intentsOf = (host: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    intent_uid: `${host}:act-${at}:v1`,
    intent_name: `Act ${at}`,
    description: 'Tells something that is worth knowing, in a sentence or two, as descriptions of operations do.',
    endpoint: { method: 'GET' as const, url: `https://${host}/${at}/{code}`, content_type: 'application/json' },
    input_parameters: [{ name: 'code', type: 'string' as const, required: true, description: 'Two letters.' }],
    output_parameters: [],
  }));

export const run = benchmark(usage, { intents: 1_200, rest: 60 }, async ({ intents, rest }) => {
  const count = Math.floor(intents / 4) * 4;
  await using gate = await startGate();
  const { stack, dynamo } = gate;
  const api = openApi(stack.base_url, { get: async () => stack.admin_token });
  const context = { api, terminal: { progress: () => ({ step() {}, end() {} }) } };
  const serviceOf = (host: string) => ({ service_name: host, service_url: `https://${host}`, description: 'Answers.' });
  const search = async (query: string): Promise<number> => {
    const startMs = performance.now();
    await api.call('GET', '/api/intents/search', { query: { query } });
    return performance.now() - startMs;
  };

  const rows: string[][] = [['', 'seconds', 'intents/s', 'transactions']];
  const measure = async (what: string, work: () => Promise<unknown>): Promise<number> => {
    await dynamo.ask();
    const startMs = performance.now();
    await work();
    const seconds = (performance.now() - startMs) / 1_000;
    const { TransactWriteItems: sent = 0 } = (await dynamo.ask<TableWork>()).operations;
    rows.push([what, seconds.toFixed(1), (count / seconds).toFixed(0), String(sent)]);
    return seconds;
  };
  const oneByOne = (host: string, writers: number) => async () => {
    const { body } = await api.call('POST', '/api/services', { body: serviceOf(host), isAdmin: true });
    const path = `${servicePath((body as { service_id: string }).service_id)}/intents`;
    await concurrently(
      intentsOf(host, count),
      writers,
      async (intent) => void (await api.call('POST', path, { body: intent, isAdmin: true })),
    );
  };

  const plan = async (host: string, share = 1) =>
    compareService(context, { service: serviceOf(host), intents: intentsOf(host, count / share) }, 16, false);
  const inBatches = (plans: readonly ServiceChanges[]) => () =>
    concurrently(plans, plans.length, async (changes) => {
      const { failed } = await applyChanges(context, changes, false);
      if (failed.length > 0) throw new Error(`${failed.length} intents were refused`);
    });

  // each function has been started before it is measured
  await search('warm up');
  await inBatches([await plan('warm.example')])();
  const whole = await plan('whole.example');
  const quarters = await Promise.all(['a', 'b', 'c', 'd'].map((name) => plan(`${name}.example`, 4)));
  const single = await measure('one by one, 1 writer', oneByOne('one.example', 1));
  await measure('one by one, 16 writers', oneByOne('sixteen.example', 16));
  await measure('in batches of 30, 4 services concurrently', inBatches(quarters));
  await search('catch up');
  const batches = await measure('in batches of 30, one after the other', inBatches([whole]));
  const first = await search('what is worth knowing');
  const after = await Array.fromAsync({ length: 20 }, (_, at) => search(`act ${at}`));
  await sleep(rest * 1_000);
  const later = await Array.fromAsync({ length: 20 }, (_, at) => search(`act ${at}`));

  console.log(formatTable(rows));
  const ratio = (a: number, b: number) => `${(a / b).toFixed(2)} : 1`;
  console.log(`\nbatches relative to one by one: ${ratio(batches, single)}`);
  const [soon, rested] = [percentile(after, 0.5), percentile(later, 0.5)];
  console.log(
    `a search right after ${first.toFixed(0)} ms, the next ones ${soon.toFixed(0)} ms, ${rest} s later ${rested.toFixed(0)} ms (median): ${ratio(first, rested)} and ${ratio(soon, rested)}`,
  );
});
