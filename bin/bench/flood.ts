import { randomUUID } from 'node:crypto';
import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { readEnvironment } from '../../functions/core/environment.ts';
import { toIntentItem } from '../../functions/core/registry/intent-item.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { buildIndex } from '../../functions/core/search/sqlite/engine.ts';
import { type Key, keys, tableOf } from '../../functions/core/table/keys.ts';
import { documentClient, type Item, openTable } from '../../functions/core/table/table.ts';
import { newUlid } from '../../functions/core/ulid.ts';
import { benchmark } from './benchmark.ts';
import { startGate } from './gate.ts';
import { formatTable } from './load.ts';
import type { TableWork } from './table-work.ts';

const usage = `npm run bench -- flood [options]
Builds the search index beside few agents and beside many: whoever floods the gate with requests for PATs under new ids must not make it dearer.
  --intents <n>   in the registry (10000)
  --agents <n>    records of agents that the flood leaves behind (100000)`;

/** Records of a registry, as the functions write them: services of 1,000 intents. */
function* registryItems(intents: number): Generator<Key & Item> {
  for (let start = 0; start < intents; start += 1_000) {
    const service_id = newUlid();
    const service_name = `Service ${start}`;
    yield { ...keys.serviceName(service_name), service_id };
    yield {
      ...keys.service(service_id),
      kind: 'service',
      service_id,
      service_name,
      service_url: 'https://flood.example',
      description: '',
      rev: 1,
    };
    for (let at = start; at < Math.min(intents, start + 1_000); at++) {
      const intent_uid = `flood.example:operation-${at}:v1`;
      const endpoint = { url: `https://flood.example/${at}`, method: 'GET' as const, content_type: 'application/json' };
      const description = 'Tells something that is worth knowing, in a sentence or two, as descriptions of operations do.';
      const shown = { intent_uid, intent_name: `Operation ${at}`, description, tags: ['flood'] };
      yield { ...keys.listEntry(service_id, intent_uid), ...shown, rev: 1 };
      yield toIntentItem({ ...shown, input_parameters: [], output_parameters: [], endpoint }, service_id, 1);
    }
  }
}

function* agentItems(agents: number): Generator<Key & Item> {
  for (let at = 0; at < agents; at++) {
    const agent_id = `flood-${at}`;
    yield {
      ...keys.agent(agent_id),
      agent_id,
      thumbprint: randomUUID(),
      generation: newUlid(),
      first_seen: 0,
      last_issue: 0,
      expires_at: 1,
    };
  }
}

const nextOf = <T>(items: Generator<T>, count: number): T[] =>
  Array.from({ length: count }, () => items.next()).flatMap(({ done, value }) => (done ? [] : [value]));

/** `npm run bench -- flood`. */
export const run = benchmark(usage, { intents: 10_000, agents: 100_000 }, async ({ intents, agents }) => {
  await using gate = await startGate();
  const { stack, dynamo } = gate;
  Object.assign(process.env, stack.definitionOf('search-intents').environment);
  const { registryTable, activityTable } = readEnvironment(['registryTable', 'activityTable']);
  const names = { registry: registryTable, activity: activityTable };
  const client = documentClient();

  const write = async (items: Generator<Key & Item>) => {
    const writer = async () => {
      for (let batch = nextOf(items, 25); batch.length > 0; batch = nextOf(items, 25)) {
        const byTable = Map.groupBy(batch, ({ pk }) => names[tableOf(pk)]);
        const requests = [...byTable].map(([name, some]) => [name, some.map((Item) => ({ PutRequest: { Item } }))]);
        await client.send(new BatchWriteCommand({ RequestItems: Object.fromEntries(requests) }));
      }
    };
    await Promise.all(Array.from({ length: 4 }, writer));
  };

  const measure = async (beside: number): Promise<string[]> => {
    await dynamo.ask();
    const startMs = performance.now();
    const { index } = await buildIndex(openRegistry(openTable(names, client)), ':memory:');
    const seconds = (performance.now() - startMs) / 1_000;
    index.close();
    const { operations, readBytes } = await dynamo.ask<TableWork>();
    const done = Object.entries(operations).map(([name, count]) => `${count} ${name}`);
    return [beside.toLocaleString('en'), done.join(', '), readBytes.toLocaleString('en'), `${seconds.toFixed(1)} s`];
  };

  await write(registryItems(intents));
  const before = await measure(0);
  await write(agentItems(agents));
  console.log(`An index of ${intents.toLocaleString('en')} intents, beside so many agents:\n`);
  console.log(formatTable([['agents', 'operations', 'bytes read', 'time'], before, await measure(agents)]));
});
