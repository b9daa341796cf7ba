import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { encodeTime } from 'ulid';
import { type HistoryQuery, openHistory, selectEntries, toChange } from '../../../../functions/core/registry/history.ts';
import { openIntents } from '../../../../functions/core/registry/intents.ts';
import { openServices } from '../../../../functions/core/registry/services.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import type { Table } from '../../../../functions/core/table/table.ts';
import { newUlid } from '../../../../functions/core/ulid.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { startTable, type TestTable } from '../../../support/table.ts';

let database: TestTable;
let table: Table;
beforeAll(async () => {
  database = await startTable();
  table = database.table;
});
afterAll(() => database.stop());

const anyRevision = () => true;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
let made = 0;
const newService = () => openServices(table).create(serviceNamed(`Recorded ${++made}`));

/** What came of the changes of one record, oldest first. */
async function outcomesOf(id: string, laterMs = 10 * minuteMs) {
  const { entries } = await openHistory(table).list({ count: 1_000, isWanted: selectEntries({ id }) }, Date.now() + laterMs);
  return entries.map(toChange).reverse();
}

test('a chain of changes links the digests: each begins with what the one before has left', async () => {
  const { service_id } = await newService();
  const uid = `chain.example:number-${made}:v1`;
  const intents = openIntents(table);
  await intents.create(service_id, intentOf(uid));
  await intents.replace(uid, intentOf(uid, { tags: ['changed'] }), anyRevision);
  await intents.replace(uid, intentOf(uid), anyRevision);
  await intents.remove(uid, anyRevision);
  const changes = await outcomesOf(uid);
  expect(changes.map(({ action, outcome }) => [action, outcome])).toEqual(
    ['create', 'update', 'update', 'delete'].map((action) => [action, 'applied']),
  );
  const [created, changed, back, deleted] = changes;
  expect(created?.digest_before).toBeUndefined();
  expect(changed?.digest_before).toBe(created?.digest_after);
  expect(back?.digest_before).toBe(changed?.digest_after);
  expect(back?.digest_after).toBe(created?.digest_after);
  expect(changed?.digest_after).not.toBe(created?.digest_after);
  expect([deleted?.digest_before, deleted?.digest_after]).toEqual([created?.digest_after, undefined]);
});

test('of many writers at once, each that succeeds leaves one entry, and those that fail leave none', async () => {
  const { service_id } = await newService();
  const uid = `contended.example:number-${made}:v1`;
  const intents = openIntents(table);
  const creations = await Promise.allSettled(Array.from({ length: 8 }, () => intents.create(service_id, intentOf(uid))));
  const replacements = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) => intents.replace(uid, intentOf(uid, { intent_name: `Writer ${index}` }), anyRevision)),
  );
  const services = openServices(table);
  await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      services.replace(service_id, { ...serviceNamed(`Recorded ${made}`), description: `${index}` }, anyRevision),
    ),
  );
  const done = [...creations, ...replacements].filter(({ status }) => status === 'fulfilled').length;
  const changes = await outcomesOf(uid);
  expect(changes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: done }, () => 'applied'));
  expect((await outcomesOf(service_id)).every(({ outcome }) => outcome === 'applied')).toBe(true);
}, 60_000);

test('a write whose answer was lost, and that was replaced before its writer looked, is not done again', async () => {
  const { service_id } = await newService();
  const services = openServices(table);
  let isFirst = true;
  const overtaken: Table = {
    ...table,
    put: async (item, condition) => {
      const isWritten = await table.put(item, condition);
      if (!isFirst || !item.pk.startsWith('SERVICE#')) return isWritten;
      isFirst = false;
      await services.replace(service_id, { ...serviceNamed(`Recorded ${made}`), description: 'Second' }, anyRevision);
      return false;
    },
  };
  await openServices(overtaken).replace(service_id, { ...serviceNamed(`Recorded ${made}`), description: 'First' }, anyRevision);
  expect((await services.find(service_id))?.description).toBe('Second');
  expect((await outcomesOf(service_id)).map(({ action, outcome }) => [action, outcome])).toEqual([
    ['create', 'applied'],
    ['update', 'applied'],
    ['update', 'applied'],
  ]);
});

test('the entries of intents that went with their service stay true, and so does that of a deletion', async () => {
  const { service_id } = await newService();
  const uids = Array.from({ length: 30 }, (_, index) => `swept.example:number-${index}:v1`);
  const intents = openIntents(table);
  for (const [index, uid] of uids.entries()) await intents.create(service_id, intentOf(uid, index % 3 === 0 ? { draft: true } : {}));
  await intents.replace('swept.example:number-1:v1', intentOf('swept.example:number-1:v1', { tags: ['changed'] }), anyRevision);
  await openServices(table).remove(service_id, anyRevision);
  for (const uid of uids) {
    expect(await table.get(keys.intent(uid))).toBeUndefined();
    expect((await outcomesOf(uid)).map(({ outcome }) => outcome)).toEqual(uid === uids[1] ? ['applied', 'applied'] : ['applied']);
  }
  expect((await outcomesOf(service_id)).map(({ action, outcome }) => [action, outcome])).toEqual([
    ['create', 'applied'],
    ['delete', 'applied'],
  ]);
  // the tombstones, which tell that a deletion took place, outlive its entry
  const tombstone = await table.get<{ expires_at: number }>(keys.service(service_id));
  const [entry] = (await openHistory(table).list({ count: 1, isWanted: selectEntries({ id: service_id }) })).entries;
  expect(tombstone?.expires_at).toBeGreaterThan(Number(entry?.expires_at));
});

test('entries are kept as long as the setting says', async () => {
  const history = openHistory(table, 30);
  const rev = newUlid();
  await history.announce({ actor: { subject: 'somebody' } }, { rev, kind: 'key', id: 'thumbprint', action: 'block' });
  const { expires_at } = (await table.get<{ expires_at: number }>(keys.history(rev))) ?? { expires_at: 0 };
  expect(Math.abs(expires_at * 1_000 - Date.now() - 30 * dayMs)).toBeLessThan(minuteMs);
});

test('what cannot be told from a record is marked when it is done', async () => {
  const history = openHistory(table);
  const by = { actor: { subject: 'somebody' } };
  const change = { kind: 'key', id: `key-${++made}`, action: 'block' } as const;
  await expect(history.around(by, change, async () => 'done')).resolves.toBe('done');
  await expect(history.around(by, change, async () => false)).resolves.toBe(false);
  await expect(history.around(by, change, () => Promise.reject(new Error('cut short')))).rejects.toThrow('cut short');
  expect((await outcomesOf(change.id, 0)).map(({ outcome }) => outcome)).toEqual(['applied', 'open']);
  expect((await outcomesOf(change.id)).map(({ outcome }) => outcome)).toEqual(['applied', 'unknown']);
});

test('pages lead through the months, newest first, and read no more than they show', async () => {
  const { table, readUnits, operations, stop } = await startTable();
  try {
    const nowMs = Date.UTC(2031, 4, 20);
    const history = openHistory(table);
    const revs = Array.from({ length: 40 }, (_, index) => `${encodeTime(nowMs - index * 9 * dayMs, 10)}${'0'.repeat(16)}`);
    for (const [index, rev] of revs.entries()) {
      const actor = { subject: index % 2 ? 'odd' : 'even' };
      await history.announce({ actor }, { rev, kind: index % 4 ? 'key' : 'agent', id: 'one', action: 'block' });
      await history.markApplied(rev);
    }
    const walk = async (query: Omit<HistoryQuery, 'after'>) => {
      const pages: string[][] = [];
      for (let after: string | undefined, isMore = true; isMore; ) {
        const { entries, next } = await history.list({ ...query, after }, nowMs);
        pages.push(entries.map(({ rev }) => rev));
        after = next;
        isMore = next !== undefined;
      }
      return pages;
    };
    const pages = await walk({ count: 7 });
    expect(pages.flat()).toEqual(revs);
    expect(pages.slice(0, 5).map(({ length }) => length)).toEqual([7, 7, 7, 7, 7]);
    expect((await walk({ count: 5, sinceMs: nowMs - 90 * dayMs })).flat()).toEqual(revs.slice(0, 11));
    expect((await walk({ count: 3, isWanted: selectEntries({ actor: 'odd' }) })).flat()).toEqual(revs.filter((_, index) => index % 2));
    expect((await walk({ count: 3, isWanted: selectEntries({ kind: 'agent' }) })).flat()).toEqual(
      revs.filter((_, index) => index % 4 === 0),
    );
    expect((await history.list({ count: 5 }, nowMs + 500 * dayMs)).entries).toEqual([]);

    readUnits.length = operations.length = 0;
    await history.list({ count: 3 }, nowMs);
    expect(operations).toEqual(['Query']);
    expect(readUnits).toEqual([1]);
    // at most a query for each month that is kept, if there is nothing
    operations.length = 0;
    await history.list({ count: 3 }, nowMs + 500 * dayMs);
    expect(operations.length).toBeLessThanOrEqual(15);
  } finally {
    await stop();
  }
});

test('a page of a selection looks at 1,000 entries, and the next one goes on', async () => {
  const { table, client, tableNames, stop } = await startTable();
  try {
    const nowMs = Date.UTC(2031, 4, 20);
    const revs = Array.from({ length: 1_300 }, (_, index) => `${encodeTime(nowMs - index * 1_000, 10)}${'0'.repeat(16)}`);
    const puts = revs.map((rev, index) => ({
      PutRequest: { Item: { ...keys.history(rev), rev, kind: 'key', id: String(index), action: 'block', actor: {}, applied: true } },
    }));
    for (let start = 0; start < puts.length; start += 25) {
      await client.send(new BatchWriteCommand({ RequestItems: { [tableNames.registry]: puts.slice(start, start + 25) } }));
    }
    const history = openHistory(table);
    const isWanted = selectEntries({ id: '1299' });
    const first = await history.list({ count: 10, isWanted }, nowMs);
    expect(first).toEqual({ entries: [], next: revs[999] });
    const second = await history.list({ count: 10, isWanted, after: first.next }, nowMs);
    expect(second.entries.map(({ rev }) => rev)).toEqual([revs[1299]]);
  } finally {
    await stop();
  }
}, 60_000);

test('a page that follows a revision of the far future is the first one, and costs no more', async () => {
  const { service_id } = await newService();
  database.operations.length = 0;
  const { entries } = await openHistory(table).list({ count: 1, after: '7ZZZZZZZZZZZZZZZZZZZZZZZZZ' });
  expect(entries.map(({ id }) => id)).toEqual([service_id]);
  expect(database.operations.length).toBeLessThan(5);
});
