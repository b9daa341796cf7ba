import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Intents, openIntents } from '../../../../functions/core/registry/intents.ts';
import type { RegistryRecord } from '../../../../functions/core/registry/records.ts';
import { openRegistry } from '../../../../functions/core/registry/registry.ts';
import { openServices, type Services } from '../../../../functions/core/registry/services.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import type { Table } from '../../../../functions/core/table/table.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { startTable, type TestTable } from '../../../support/table.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

let database: TestTable;
let services: Services;
let intents: Intents;

function openStores(table: Table): void {
  services = openServices(table);
  intents = openIntents(table);
}

beforeAll(async () => {
  database = await startTable();
  openStores(database.table);
});
afterAll(() => database.stop());

const anyRevision = () => true;
const uidOf = (index: number) => `list.example:intent-${String(index).padStart(5, '0')}:v1`;

let made = 0;
const newService = async () => (await services.create(serviceNamed(`Listed ${++made}`))).service_id;

/** What a list says, without drafts and with them, and what the records say. */
async function listAndTruth(serviceId: string, uids: string[]) {
  const lists = await Promise.all([false, true].map((isWithDrafts) => intents.list(serviceId, 0, 100, isWithDrafts)));
  const records = await Promise.all([...uids].sort().map((uid) => intents.find(uid)));
  const live = records.flatMap((found) => (found?.intent.service_id === serviceId ? [found.intent] : []));
  const shown = ({ intent_uid, intent_name }: { intent_uid: string; intent_name: string }) => [intent_uid, intent_name];
  const truths = [live.filter(({ draft }) => !draft), live];
  return {
    listed: lists.map(({ total, intents: listed }) => ({ total, names: listed.map(shown) })),
    truth: truths.map((some) => ({ total: some.length, names: some.map(shown) })),
  };
}

describe('a service with 2,000 intents', () => {
  const size = 2_000;
  let serviceId: string;

  beforeAll(async () => {
    serviceId = await newService();
    const pointers = Array.from({ length: size }, (_, index) => ({
      ...keys.member(serviceId, uidOf(index)),
      intent_uid: uidOf(index),
      rev: '0'.repeat(26),
      intent_name: `Intent ${index}`,
      description: 'Tells something that is worth knowing, in a sentence or two, as descriptions of operations do.',
      tags: ['some', 'tags'],
      deprecated: false,
      deprecated_of: '0'.repeat(26),
    }));
    for (let start = 0; start < size; start += 25) {
      const puts = pointers.slice(start, start + 25).map((Item) => ({ PutRequest: { Item } }));
      await database.client.send(new BatchWriteCommand({ RequestItems: { [database.tableNames.registry]: puts } }));
    }
    await database.table.put({ ...keys.roster(serviceId), members: size, pending: {} });
  });

  const namesOf = (from: number, count: number) => Array.from({ length: count }, (_, index) => `Intent ${from + index}`);

  test.each<[string, number | string, number, number]>([
    ['page 1', 0, 0, 3],
    ['page 200 by its cursor', uidOf(1_989), 1_990, 3],
    ['page 100 by its cursor', uidOf(989), 990, 3],
    ['page 200 by its number', 1_990, 1_990, 3],
    ['page 11 by its number', 100, 100, 10],
  ])('%s takes few read units', async (_, from, first, most) => {
    database.readUnits.length = 0;
    const page = await intents.list(serviceId, from, 10);
    expect({ total: page.total, names: page.intents.map(({ intent_name }) => intent_name) }).toEqual({
      total: size,
      names: namesOf(first, 10),
    });
    expect(database.readUnits.reduce((sum, units) => sum + units, 0)).toBeLessThanOrEqual(most);
  });

  test('a page past the end is empty, and reads only the count', async () => {
    database.readUnits.length = 0;
    await expect(intents.list(serviceId, size, 10)).resolves.toEqual({ intents: [], total: size });
    expect(database.readUnits).toEqual([1]);
  });

  test('pages by number end where too much would have to be skipped', async () => {
    const half = await newService();
    await database.table.put({ ...keys.roster(half), members: 20_000, pending: {} });
    await expect(intents.list(half, 9_000, 10)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      message: 'The page is too far from both ends of the list. Follow the Link header (rel="next") from a page nearer by.',
    });
  });
});

describe('whatever a request leaves half done', () => {
  // in memory, because there are many cases
  const table = openMemoryTable();
  beforeAll(() => openStores(table));
  afterAll(() => openStores(database.table));

  /** The table, whose write number `at` is lost before or after it takes effect, and all that follows with it. */
  function crashing(table: Table, at: number, takesEffect: boolean): Table {
    let writes = 0;
    const guard = <A extends unknown[], R>(write: (...input: A) => Promise<R>) => {
      return async (...input: A): Promise<R> => {
        writes++;
        if (writes < at) return write(...input);
        if (writes === at && takesEffect) await write(...input);
        throw new Error('crashed');
      };
    };
    return { ...table, put: guard(table.put), update: guard(table.update) as Table['update'], delete: guard(table.delete) };
  }

  const uid = (name: string) => `crash.example:${name}-${made}:v1`;
  const acts: Record<string, (store: Intents, serviceId: string) => Promise<unknown>> = {
    create: (store, serviceId) => store.create(serviceId, intentOf(uid('b'), { intent_name: 'New' })),
    replace: (store) => store.replace(uid('a'), intentOf(uid('a'), { intent_name: 'Newer' }), anyRevision),
    remove: (store) => store.remove(uid('a'), anyRevision),
    'make it a draft': (store) => store.replace(uid('a'), intentOf(uid('a'), { intent_name: 'Newer', draft: true }), anyRevision),
    'create a draft': (store, serviceId) => store.create(serviceId, intentOf(uid('b'), { intent_name: 'New', draft: true })),
    publish: (store) => store.replace(uid('d'), intentOf(uid('d'), { intent_name: 'Newer' }), anyRevision),
    'remove a draft': (store) => store.remove(uid('d'), anyRevision),
  };
  const cases = Object.keys(acts).flatMap((act) =>
    Array.from({ length: 12 }, (_, index) => index + 1).flatMap((at) =>
      [true, false].map((takesEffect) => [act, at, takesEffect] as const),
    ),
  );

  test.each(cases)(
    '%s: crash at write %i (with effect: %p): the list is what the records are, then and after another try',
    async (name, at, takesEffect) => {
      const serviceId = await newService();
      for (const slug of ['a', 'c']) await intents.create(serviceId, intentOf(uid(slug)));
      await intents.create(serviceId, intentOf(uid('d'), { draft: true }));
      const act = acts[name] as (typeof acts)[string];
      await act(openIntents(crashing(table, at, takesEffect)), serviceId).catch(() => {});

      const uids = ['a', 'b', 'c', 'd'].map(uid);
      const after = await listAndTruth(serviceId, uids);
      expect(after.listed).toEqual(after.truth);

      await act(intents, serviceId).catch(() => {});
      const atLast = await listAndTruth(serviceId, uids);
      expect(atLast.listed).toEqual(atLast.truth);
    },
  );
});

describe('what happens in between', () => {
  /** The table, with something that others do before or after one kind of operation, the first time. */
  function interrupted(operation: 'getAll' | 'update' | 'put', meanwhile: () => Promise<unknown>, isIt: (input: string) => boolean): Table {
    const { table } = database;
    let isDone = false;
    const call = async (...given: unknown[]): Promise<unknown> => {
      const run = () => Reflect.apply(table[operation], table, given) as Promise<unknown>;
      const result = await run();
      if (isDone || !isIt(JSON.stringify(given))) return result;
      isDone = true;
      await meanwhile();
      // an answer that was lost: the request is sent again
      return operation === 'getAll' ? result : run();
    };
    return { ...table, [operation]: call };
  }

  test('a creation that another one overtakes is not counted', async () => {
    const serviceId = await newService();
    const uid = `overtaken.example:one-${made}:v1`;
    const other = interrupted(
      'getAll',
      () => intents.create(serviceId, intentOf(uid)),
      (input) => input.includes(uid.split(':v1')[0] ?? ''),
    );
    await expect(openIntents(other).create(serviceId, intentOf(uid))).rejects.toMatchObject({ code: 'CONFLICT' });
    const { listed, truth } = await listAndTruth(serviceId, [uid]);
    expect(listed).toEqual(truth);
  });

  test('a creation that is announced again after another one is not counted', async () => {
    const serviceId = await newService();
    const uid = `again.example:one-${made}:v1`;
    const other = interrupted(
      'update',
      () => intents.create(serviceId, intentOf(uid)),
      (input) => input.includes('ROSTER#'),
    );
    await expect(openIntents(other).create(serviceId, intentOf(uid))).rejects.toMatchObject({ code: 'CONFLICT' });
    const { listed, truth } = await listAndTruth(serviceId, [uid]);
    expect(listed).toEqual(truth);
  });

  test('a deletion that is announced again after another one takes nothing else out', async () => {
    const serviceId = await newService();
    const uids = [`gone.example:one-${made}:v1`, `gone.example:two-${made}:v1`];
    for (const uid of uids) await intents.create(serviceId, intentOf(uid));
    const [uid = ''] = uids;
    const other = interrupted(
      'update',
      () => intents.remove(uid, anyRevision),
      (input) => input.includes('ROSTER#'),
    );
    expect(await openIntents(other).remove(uid, anyRevision)).toBe(false);
    const { listed, truth } = await listAndTruth(serviceId, uids);
    expect(listed).toEqual(truth);
  });

  test('an intent that joins while a list is read takes the place of no other', async () => {
    const serviceId = await newService();
    const [first, last] = [`page.example:a-${made}:v1`, `page.example:b-${made}:v1`];
    await intents.create(serviceId, intentOf(last));
    const other = interrupted(
      'getAll',
      () => intents.create(serviceId, intentOf(first)),
      (input) => input.includes('ROSTER#'),
    );
    const { intents: listed } = await openIntents(other).list(serviceId, 0, 10);
    expect(listed.map(({ intent_uid }) => intent_uid)).toContain(last);
  });

  test("an intent of a deleted service whose removal overtakes a creation is in nobody's way", async () => {
    const [goneId, serviceId] = [await newService(), await newService()];
    const uid = `left.example:one-${made}:v1`;
    await intents.create(goneId, intentOf(uid));
    await services.remove(goneId, anyRevision, 0);
    const other = interrupted(
      'getAll',
      () => services.remove(goneId, anyRevision),
      (input) => input.includes(serviceId),
    );
    expect(await openIntents(other).create(serviceId, intentOf(uid))).toMatchObject({ service_id: serviceId });
    const { listed, truth } = await listAndTruth(serviceId, [uid]);
    expect(listed).toEqual(truth);
  });

  test('a service that is written again because the answer was lost does not undo what others made of it', async () => {
    const name = `Listed ${++made}`;
    const rename = async () => {
      const [item] = (
        await database.table.query<{ service_id: string }>('NAMES#', {
          range: 'sk = :name',
          ExpressionAttributeValues: { ':name': name.toLowerCase() },
        })
      ).items;
      await services.replace(item?.service_id ?? '', { ...serviceNamed(name), description: 'Theirs' }, anyRevision);
    };
    const other = interrupted('put', rename, (input) => input.includes('"SERVICE#'));
    const { service_id } = await openServices(other).create(serviceNamed(name));
    expect((await services.find(service_id))?.description).toBe('Theirs');
  });
});

test('many writers at once leave a list that is what the records are', async () => {
  const serviceId = await newService();
  const uids = Array.from({ length: 6 }, (_, index) => `busy.example:intent-${index}:v1`);
  let turn = 0;
  const change = async (uid: string) => {
    const kind = turn++ % 3;
    if (kind === 0) await intents.create(serviceId, intentOf(uid, { intent_name: `Created ${turn}` }));
    if (kind === 1) await intents.replace(uid, intentOf(uid, { intent_name: `Replaced ${turn}` }), anyRevision);
    if (kind === 2) await intents.remove(uid, anyRevision);
  };
  for (let round = 0; round < 5; round++) {
    await Promise.allSettled(Array.from({ length: 40 }, (_, index) => change(uids[(index * 7) % uids.length] ?? '')));
    const { listed, truth } = await listAndTruth(serviceId, uids);
    expect(listed).toEqual(truth);
  }
}, 90_000);

test('the whole registry is read by way of names, pointers and batches, without a scan', async () => {
  const { table, operations, stop } = await startTable();
  try {
    const store = openIntents(table);
    const ids = await Promise.all(['One', 'Two'].map(async (name) => (await openServices(table).create(serviceNamed(name))).service_id));
    const uids = Array.from({ length: 120 }, (_, index) => `whole.example:intent-${index}:v1`);
    for (const [index, uid] of uids.entries()) await store.create(ids[index % 2] ?? '', intentOf(uid));
    await store.remove('whole.example:intent-0:v1', anyRevision);
    operations.length = 0;
    const registry = openRegistry(table);
    const idOf = (record: RegistryRecord) => (record.kind === 'intent' ? record.intent_uid : record.service_id);
    const parts = (await Array.fromAsync(registry.readAll())).map(({ records, cursor }) => ({ ids: records.map(idOf), cursor }));
    expect(parts.flatMap((part) => part.ids).sort()).toEqual([...ids, ...uids.slice(1)].sort());
    expect(operations).toEqual(['Query', 'Query', 'Query', 'BatchGetItem', 'BatchGetItem']);

    // a reading that was cut short goes on where it was, at most with that service once more
    const rest = (await Array.fromAsync(registry.readAll(parts[0]?.cursor))).flatMap(({ records }) => records.map(idOf));
    const later = parts.slice(1).flatMap((part) => part.ids);
    expect(rest.slice(-later.length)).toEqual(later);
    expect(rest.length - later.length).toBeLessThanOrEqual(1);
  } finally {
    await stop();
  }
});
