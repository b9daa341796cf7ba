import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openIntents } from '../../../../functions/core/store/intents.ts';
import { openRegistry } from '../../../../functions/core/store/registry.ts';
import { openServices } from '../../../../functions/core/store/services.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { startTable, type TestTable } from '../../../support/table.ts';

let started: TestTable;
beforeAll(async () => {
  started = await startTable();
});
afterAll(() => started.stop());

test('the registry is read page by page, from any page on', async () => {
  const registry = openRegistry(started.table);
  const { service_id } = await openServices(started.table).create(serviceNamed('Large'));
  const uids = Array.from({ length: 12 }, (_, at) => `a.example:large-${String(at).padStart(2, '0')}:v1`);
  const description = 'word '.repeat(40_000);
  for (const uid of uids) await openIntents(started.table).create(service_id, intentOf(uid, { description }));

  const first = await registry.page();
  const rest = [];
  for (let { cursor } = first; cursor !== undefined; ) {
    const page = await registry.page(cursor);
    rest.push(...page.records);
    cursor = page.cursor;
  }
  expect(first.records.length).toBeGreaterThan(0);
  expect(rest.length).toBeGreaterThan(0);
  const read = [...first.records, ...rest];
  expect(read.map((record) => (record.kind === 'intent' ? record.intent_uid : record.service_id)).sort()).toEqual(
    [...uids, service_id].sort(),
  );
  expect((await Array.fromAsync(registry.scan())).flat()).toEqual(read);
  expect(await registry.membersOf(service_id)).toEqual(uids);
});
