import assert from 'node:assert/strict';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type BatchGetCommandInput, DynamoDBDocumentClient, type GetCommandInput, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { buildIndex } from '../../functions/core/search/sqlite/engine.ts';
import { catchUp } from '../../functions/core/search/sqlite/index-sync.ts';
import type { SearchIndex } from '../../functions/core/search/sqlite/search-index.ts';
import type { Key } from '../../functions/core/table/keys.ts';
import { openTable, type Query, type Table } from '../../functions/core/table/table.ts';
import { searchQuery } from '../../schemas/search.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import type { Caller, Scenario } from './explore.ts';
import { type MemoryTable, openMemoryTable } from './memory-table.ts';
import { requireCodes } from './outcomes.ts';

const always = () => true;

/** The shipped table over a client whose consistent reads see the table, and the others what stood there when the play began. */
function openReader(current: () => Table, stale: Table): Table {
  const client = DynamoDBDocumentClient.from(
    new DynamoDBClient({ region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
  );
  const seen = (isConsistent: boolean | undefined) => (isConsistent ? current() : stale);
  const readers: Record<string, (input: object) => Promise<object>> = {
    async QueryCommand(input) {
      const { ConsistentRead, KeyConditionExpression, ExpressionAttributeValues = {}, ExclusiveStartKey } = input as QueryCommandInput;
      const { ':pk': pk, ':sk': sk } = ExpressionAttributeValues;
      const [, operator] = / AND sk (\S+) :sk$/.exec(KeyConditionExpression ?? '') ?? [];
      const range = operator && { range: [operator, String(sk)] as NonNullable<Query['range']> };
      const { items, lastKey } = await seen(ConsistentRead).query(String(pk), { ...range, start: ExclusiveStartKey as Key | undefined });
      return { Items: items, ...(lastKey && { LastEvaluatedKey: lastKey }) };
    },
    async GetItemCommand(input) {
      const { Key, ConsistentRead } = input as GetCommandInput;
      return { Item: await seen(ConsistentRead).get(Key as Key) };
    },
    async BatchGetItemCommand(input) {
      const { RequestItems = {} } = input as BatchGetCommandInput;
      const found = await Promise.all(
        Object.entries(RequestItems).map(async ([name, { Keys = [], ConsistentRead }]) => {
          const items = await seen(ConsistentRead).getAll(Keys as Key[]);
          return [name, items.filter((item) => item !== undefined)];
        }),
      );
      return { Responses: Object.fromEntries(found) };
    },
  };
  client.middlewareStack.add(
    (_next, { commandName = '' }) =>
      async ({ input }) => ({ response: undefined, output: { $metadata: {}, ...(await readers[commandName]?.(input)) } }),
    { step: 'initialize', priority: 'low' },
  );
  return openTable({ registry: 'registry', activity: 'activity' }, client);
}

/** What is known of an intent by those who wrote it: what a search shows of it, or that it is gone. */
type Known = Map<string, { description?: string; service_name?: string } | undefined>;

function requireFound(index: SearchIndex, known: Known): void {
  const { hits } = index.search(searchQuery.parse({}));
  for (const [uid, expected] of known) {
    const shown = hits.find(({ intent }) => intent.intent_uid === uid)?.intent;
    if (expected === undefined) assert.equal(shown, undefined, 'a search finds what was deleted');
    else assert.partialDeepStrictEqual(shown, expected, 'a search does not find what was written');
  }
}

const uid = 'a.example:b:v1';

type Write = (table: Table, serviceId: string) => Promise<[uid: string, known: ReturnType<Known['get']>]>;

const create: Write = async (table, serviceId) => {
  const { intent_uid, description } = intentOf('a.example:c:v1');
  await openIntents(table).create(serviceId, intentOf(intent_uid));
  return [intent_uid, { description }];
};
const remove: Write = async (table) => {
  await openIntents(table).remove(uid, always);
  return [uid, undefined];
};
const change: Write = async (table) => {
  await openIntents(table).replace(uid, intentOf(uid, { description: 'Changed' }), always);
  return [uid, { description: 'Changed' }];
};
const rename: Write = async (table, serviceId) => {
  await openServices(table).replace(serviceId, serviceNamed('A name before'), always);
  return [uid, { service_name: 'A name before' }];
};
const removeService: Write = async (table, serviceId) => {
  await openServices(table).remove(serviceId, always);
  return [uid, undefined];
};

/**
 * Writers beside a reader that follows the log.
 * @param isNew - the reader builds its index meanwhile
 */
const followed = (name: string, writes: readonly Write[], budget: Scenario['budget'], isNew = false): Scenario => ({
  name,
  promise: 'I2, I3: a search finds what was acknowledged before it began, and nothing that was deleted',
  budget,
  pageSize: 1,
  prepare: async (table: MemoryTable) => {
    await openServices(table).create(serviceNamed('Another'));
    const { service_id } = await openServices(table).create(serviceNamed('Service'));
    await openIntents(table).create(service_id, intentOf(uid));
    const stale = openMemoryTable();
    for (const item of table.items()) await stale.put(item);
    let current: Table = table;
    const registry = openRegistry(openReader(() => current, stale));
    let following = isNew ? undefined : await buildIndex(registry, ':memory:');
    const search = async (known: Known) => {
      const before: Known = new Map(known);
      following ??= await buildIndex(registry, ':memory:');
      await catchUp(registry, following);
      requireFound(following.index, before);
    };
    const known: Known = new Map();
    return {
      callers: [
        async ({ table: own }: Caller) => {
          current = own;
          for (let at = 0; at < 2; at++) await search(known);
        },
        ...writes.map((write) => async ({ table: own }: Caller) => {
          const [id, expected] = await write(own, service_id);
          known.set(id, expected);
        }),
      ],
      check: async (end) => {
        requireCodes(end, 'CONFLICT', 'SERVICE_UNAVAILABLE');
        current = table;
        await search(known);
        following?.index.close();
      },
    };
  },
});

export const searchScenarios: Scenario[] = [
  followed('search beside two writers', [create, remove], {}),
  followed('search beside a rename', [rename], { faults: 1 }),
  followed('search beside a change of an intent', [change], { faults: 1 }),
  followed('search beside a service that is deleted', [removeService], {}),
  followed('search of a new index beside a rename', [rename], {}, true),
  followed('search of a new index beside a change of an intent', [change], {}, true),
];
