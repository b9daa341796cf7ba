import assert from 'node:assert/strict';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type BatchGetCommandInput, DynamoDBDocumentClient, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { openIntents } from '../../functions/core/registry/intents.ts';
import type { RegistryRecord } from '../../functions/core/registry/records.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { followChanges } from '../../functions/core/search/sqlite/index-sync.ts';
import type { Key } from '../../functions/core/table/keys.ts';
import { openTable, type Table } from '../../functions/core/table/table.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import type { Caller, Scenario } from './explore.ts';
import { type MemoryTable, openMemoryTable } from './memory-table.ts';
import { codesOf } from './outcomes.ts';

const always = () => true;

/** The shipped table over a client whose consistent reads see the table, and the others what stood there when the play began. */
function openReader(current: () => Table, stale: Table): Table {
  const client = DynamoDBDocumentClient.from(
    new DynamoDBClient({ region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
  );
  const seen = (isConsistent: boolean | undefined) => (isConsistent ? current() : stale);
  const readers: Record<string, (input: object) => Promise<object>> = {
    async QueryCommand(input) {
      const { ConsistentRead, KeyConditionExpression = '', ExpressionAttributeValues = {}, ...query } = input as QueryCommandInput;
      const { ':pk': pk, ...values } = ExpressionAttributeValues;
      const range = KeyConditionExpression.replace(/^pk = :pk( AND )?/, '');
      const asked = { ...query, ExpressionAttributeValues: values, ...(range !== '' && { range }) };
      const { items, lastKey } = await seen(ConsistentRead).query(String(pk), asked);
      return { Items: items, ...(lastKey && { LastEvaluatedKey: lastKey }) };
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

/** What a search would find: the records that stand, by their ids. */
function openFound() {
  const found = new Map<string, RegistryRecord>();
  return {
    found,
    apply: (records: readonly RegistryRecord[]): void => {
      for (const record of records) {
        const id = record.kind === 'intent' ? record.intent_uid : record.service_id;
        if (record.deleted_at === undefined) found.set(id, record);
        else found.delete(id);
      }
    },
  };
}

/** What is known of each record by those who wrote it: how it stands, or that it is gone. */
type Known = Map<string, string | undefined>;

function requireFound(found: Map<string, RegistryRecord>, known: Known): void {
  for (const [id, expected] of known) {
    const record = found.get(id);
    if (expected === undefined) assert.equal(record, undefined, 'a search finds what was deleted');
    else assert.ok(record?.description === expected, 'a search does not find what was written');
  }
}

type Write = (table: Table, serviceId: string) => Promise<[id: string, description: string | undefined]>;

const create =
  (uid: string): Write =>
  async (table, serviceId) => {
    const intent = await openIntents(table).create(serviceId, intentOf(uid));
    return [uid, intent?.description];
  };
const remove: Write = async (table) => {
  await openIntents(table).remove('a.example:b:v1', always);
  return ['a.example:b:v1', undefined];
};
const change: Write = async (table) => {
  await openIntents(table).replace('a.example:b:v1', intentOf('a.example:b:v1', { description: 'Changed' }), always);
  return ['a.example:b:v1', 'Changed'];
};
const rename: Write = async (table, serviceId) => {
  await openServices(table).replace(serviceId, { ...serviceNamed('Other'), description: 'Renamed' }, always);
  return [serviceId, 'Renamed'];
};

/** Writers beside a reader that follows the changes, a few seconds before midnight (UTC). */
const followed = (name: string, writes: readonly Write[], budget: Scenario['budget']): Scenario => ({
  name,
  promise: 'I2, I3: a search finds what was acknowledged before it began, and nothing that was deleted',
  budget,
  startMs: Date.UTC(2029, 11, 31, 23, 59, 57),
  pageSize: 1,
  prepare: async (table: MemoryTable) => {
    const { service_id } = await openServices(table).create(serviceNamed('Service'));
    await openIntents(table).create(service_id, intentOf('a.example:b:v1'));
    const stale = openMemoryTable();
    for (const item of table.items()) await stale.put(item);
    let current: Table = table;
    const { found, apply } = openFound();
    const registry = openRegistry(openReader(() => current, stale));
    for await (const { records } of registry.readAll()) apply(records);
    const follow = followChanges(registry, { index: { apply }, asOfMs: Date.now() });
    const known: Known = new Map();
    return {
      callers: [
        async ({ table: own }: Caller) => {
          current = own;
          for (let search = 0; search < 2; search++) {
            const before: Known = new Map(known);
            await follow();
            requireFound(found, before);
          }
        },
        ...writes.map((write) => async ({ table: own }: Caller) => {
          const [id, description] = await write(own, service_id);
          known.set(id, description);
        }),
      ],
      check: async ({ outcomes }) => {
        for (const code of codesOf(outcomes)) assert.ok(['CONFLICT', 'SERVICE_UNAVAILABLE'].includes(code), code);
        current = table;
        await follow();
        requireFound(found, known);
      },
    };
  },
});

export const searchScenarios: Scenario[] = [
  followed('search beside a writer whose clock jumps over midnight', [create('a.example:c:v1')], { clockSteps: 1 }),
  followed('search beside two writers', [create('a.example:c:v1'), remove], {}),
  followed('search beside a rename', [rename], { faults: 1 }),
  followed('search beside a change of an intent', [change], { faults: 1 }),
];
