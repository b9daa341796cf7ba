import { afterAll, expect, jest, test } from '@jest/globals';
import { openChangeLog } from '../../../../functions/core/registry/change-log.ts';
import { type LogQuery, selectEntries } from '../../../../functions/core/registry/log.ts';
import { openServices } from '../../../../functions/core/registry/services.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import type { Table } from '../../../../functions/core/table/table.ts';
import { serviceNamed } from '../../../support/records.ts';
import { startTable } from '../../../support/table.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const database = await startTable();
/** A table that only one test uses. */
const own = await startTable();
const { table } = database;
afterAll(() => Promise.all([database.stop(), own.stop()]));

const anyRevision = () => true;
const dayMs = 24 * 60 * 60_000;
const by = (subject: string) => ({ actor: { subject } });
let made = 0;
const newService = (store = table) => openServices(store).create(serviceNamed(`Recorded ${++made}`));

/** Adds an entry that changes no record. */
const enter = (log: ReturnType<typeof openChangeLog>, subject: string, id = 'one') =>
  log.change(by(subject), async () => ({ result: (seq) => seq, changes: [{ kind: 'agent', id, action: 'block' }], writes: () => [] }));

test('a change takes two batch reads and one transaction; a refused one writes nothing', async () => {
  const { service_id } = await newService();
  const services = openServices(table);
  database.operations.length = 0;
  await services.replace(service_id, serviceNamed(`Recorded ${made}`), anyRevision);
  expect(database.operations).toEqual(['BatchGetItem', 'BatchGetItem', 'TransactWriteItems']);
  database.operations.length = 0;
  await expect(services.replace(service_id, serviceNamed('Never'), () => false)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(database.operations).toEqual(['BatchGetItem']);
});

test('a head that keeps moving ends in 503, and nothing is changed', async () => {
  const memory = openMemoryTable();
  const never: Table = { ...memory, transact: async () => [0] };
  let nowMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1_000));
  const refused = openServices(never).create(serviceNamed('Late'));
  await expect(refused).rejects.toMatchObject({ message: 'There are too many concurrent changes. Try again after Retry-After.' });
  clock.mockRestore();
  expect(memory.items()).toEqual([]);
});

test('entries expire after the configured time', async () => {
  const log = openChangeLog(table, 30);
  const seq = await enter(log, 'somebody');
  const { expires_at } = (await table.get<{ expires_at: number }>(keys.log(seq))) ?? { expires_at: 0 };
  expect(Math.abs(expires_at * 1_000 - Date.now() - 30 * dayMs)).toBeLessThan(60_000);
});

test('pages go back through the log, and read no more than they show', async () => {
  const { table, readUnits, operations } = own;
  const log = openChangeLog(table);
  for (let at = 0; at < 40; at++) await enter(log, at % 2 ? 'odd' : 'even', `id-${at}`);
  const walk = async (query: Omit<LogQuery, 'before'>) => {
    const pages: number[][] = [];
    let before: number | undefined;
    do {
      const { entries, next } = await log.list({ ...query, before });
      pages.push(entries.map(({ seq }) => seq));
      before = next;
    } while (before !== undefined);
    return pages;
  };
  const all = Array.from({ length: 40 }, (_, at) => 40 - at);
  const pages = await walk({ count: 7 });
  expect(pages.flat()).toEqual(all);
  expect(pages.slice(0, 5).map(({ length }) => length)).toEqual([7, 7, 7, 7, 7]);
  expect((await walk({ count: 3, isWanted: selectEntries({ actor: 'odd' }) })).flat()).toEqual(all.filter((seq) => seq % 2 === 0));
  expect((await log.list({ count: 5, since: new Date(Date.now() + 60_000).toISOString() })).entries).toEqual([]);
  expect((await log.list({ count: 5 }, Date.now() + 500 * dayMs)).entries).toEqual([]);
  readUnits.length = operations.length = 0;
  await log.list({ count: 3 });
  expect({ operations, readUnits }).toEqual({ operations: ['Query'], readUnits: [1] });
});

test('a filtered page examines 1,000 entries, and the next one continues', async () => {
  const memory = openMemoryTable();
  const log = openChangeLog(memory);
  for (let at = 1; at <= 1_300; at++) await enter(log, 'somebody', `id-${at}`);
  const isWanted = selectEntries({ id: 'id-1' });
  const first = await log.list({ count: 10, isWanted });
  expect(first).toEqual({ entries: [], next: 301 });
  const second = await log.list({ count: 10, isWanted, before: first.next });
  expect(second.entries.map(({ seq }) => seq)).toEqual([1]);
});
