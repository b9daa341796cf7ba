import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openIntents } from '../../../../functions/core/registry/intents.ts';
import { listIntents, putListEntry } from '../../../../functions/core/registry/lists.ts';
import type { RegistryRecord } from '../../../../functions/core/registry/records.ts';
import { openRegistry } from '../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../functions/core/registry/services.ts';
import type { Item } from '../../../../functions/core/table/table.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { startTable } from '../../../support/table.ts';

const database = await startTable();
/** A table that one test reads completely. */
const whole = await startTable();
const services = openServices(database.table);
afterAll(() => Promise.all([database.stop(), whole.stop()]));

const anyRevision = () => true;
const uidOf = (index: number) => `list.example:intent-${String(index).padStart(5, '0')}:v1`;

let made = 0;
const newService = async () => (await services.create(serviceNamed(`Listed ${++made}`))).service_id;

describe('a service with 2,000 intents', () => {
  const size = 2_000;
  let serviceId: string;
  const service = (intents = size) => ({ service_id: serviceId, intents, drafts: 0 });

  beforeAll(async () => {
    serviceId = await newService();
    const entries = Array.from({ length: size }, (_, index) => {
      const description = 'Tells something that is worth knowing, in a sentence or two, as descriptions of operations do.';
      const shown = intentOf(uidOf(index), { intent_name: `Intent ${index}`, description, tags: ['some', 'tags'] });
      return (putListEntry(serviceId, shown, 1) as { put: Item }).put;
    });
    for (let start = 0; start < size; start += 25) {
      const puts = entries.slice(start, start + 25).map((Item) => ({ PutRequest: { Item } }));
      await database.client.send(new BatchWriteCommand({ RequestItems: { [database.tableNames.registry]: puts } }));
    }
  });

  const namesOf = (from: number, count: number) => Array.from({ length: count }, (_, index) => `Intent ${from + index}`);

  test.each<{ what: string; from: number | string; first: number; most: number }>([
    { what: 'page 1', from: 0, first: 0, most: 3 },
    { what: 'page 200 by its cursor', from: uidOf(1_989), first: 1_990, most: 3 },
    { what: 'page 200 by its number', from: 1_990, first: 1_990, most: 3 },
    { what: 'page 11 by its number', from: 100, first: 100, most: 10 },
  ])('$what takes few read units', async ({ from, first, most }) => {
    database.readUnits.length = 0;
    const page = await listIntents(database.table, service(), from, 10);
    expect({ total: page.total, names: page.intents.map(({ intent_name }) => intent_name) }).toEqual({
      total: size,
      names: namesOf(first, 10),
    });
    expect(database.readUnits.reduce((sum, units) => sum + units, 0)).toBeLessThanOrEqual(most);
  });

  test('a page past the end is empty, and reads nothing', async () => {
    database.readUnits.length = 0;
    await expect(listIntents(database.table, service(), size, 10)).resolves.toEqual({ intents: [], total: size });
    expect(database.readUnits).toEqual([]);
  });

  test('an intent that was registered since the count displaces no other', async () => {
    const { intents: listed, total } = await listIntents(database.table, service(size - 1), 0, size);
    expect([listed.length, total]).toEqual([size, size]);
  });

  test('pages by number are refused if too much would have to be skipped', async () => {
    await expect(listIntents(database.table, service(20_000), 9_000, 10)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      message: 'This page number is out of range. Start from an earlier or later page and follow its Link header (rel="next").',
    });
  });
});

test('the whole registry is read through names, lists and batches, without a scan', async () => {
  const { table, operations } = whole;
  const store = openIntents(table);
  const ids = await Promise.all(['One', 'Two'].map(async (name) => (await openServices(table).create(serviceNamed(name))).service_id));
  const uids = Array.from({ length: 120 }, (_, index) => `whole.example:intent-${index}:v1`);
  for (let start = 0; start < uids.length; start += 30) {
    const some = uids.slice(start, start + 30);
    await store.apply(
      ids[(start / 30) % 2] ?? '',
      some.map((uid) => ({ action: 'create', intent: intentOf(uid) })),
    );
  }
  await store.remove('whole.example:intent-0:v1', anyRevision);
  operations.length = 0;
  const registry = openRegistry(table);
  const idOf = (record: RegistryRecord) => (record.kind === 'intent' ? record.intent_uid : record.service_id);
  const parts = (await Array.fromAsync(registry.readAll())).map(({ records, cursor }) => ({ ids: records.map(idOf), cursor }));
  expect(parts.flatMap((part) => part.ids).sort()).toEqual([...ids, ...uids.slice(1)].sort());
  expect(operations).toEqual(['Query', 'Query', 'Query', 'BatchGetItem', 'BatchGetItem']);

  // an interrupted reading continues where it stopped, and repeats at most one service
  const rest = (await Array.fromAsync(registry.readAll(parts[0]?.cursor))).flatMap(({ records }) => records.map(idOf));
  const later = parts.slice(1).flatMap((part) => part.ids);
  expect(rest.slice(-later.length)).toEqual(later);
  expect(rest.length - later.length).toBeLessThanOrEqual(1);
});
