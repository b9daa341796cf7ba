import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keys } from '../../functions/core/table/keys.ts';
import { startTable } from '../support/table.ts';
import { openMemoryTable } from './memory-table.ts';
import { play, steps } from './table-steps.ts';

const engine = await startTable();
afterAll(() => engine.stop());

test('the table in memory does what the local table does', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const theirs = await play(engine.table, all);
      expect(await play(openMemoryTable(), all)).toEqual(theirs);
      for (const outcome of theirs.outcomes) {
        const kind = typeof outcome === 'object' ? 'object' : String(outcome);
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
      }
    }),
    { numRuns: Number(process.env.WORLD_RUNS ?? 60) },
  );
  for (const kind of ['object', 'true', 'false', 'refused']) expect([kind, seen.get(kind) ?? 0]).not.toEqual([kind, 0]);
}, 60_000);

test.each([
  ['all of a partition', {}],
  ['backward', { isBackward: true as const }],
  ['a page', { limit: 2 }],
  ['the page after it', { limit: 2, start: keys.agentListed('active', 'b') }],
  ['a page backward', { limit: 2, isBackward: true as const, start: keys.agentListed('active', 'd') }],
  ['what follows a key', { range: ['>', keys.agentListed('active', 'b').sk] as const }],
  ['what begins with a text', { range: ['begins', keys.agentListed('active', 'b').sk] as const }],
])('the table in memory lists %s as the table engine does', async (_, query) => {
  const memory = openMemoryTable();
  for (const table of [memory, engine.table]) {
    for (const [at, name] of ['d', 'b', 'a', 'é', 'c'].entries()) {
      await table.put({ ...keys.agentListed('active', name), agent_id: name, n: at });
    }
  }
  const { pk } = keys.agentListed('active', 'a');
  expect(await memory.query(pk, query)).toEqual(await engine.table.query(pk, query));
});

test('the table in memory writes batches as the table engine does', async () => {
  const memory = openMemoryTable();
  const put = (name: string, n: number) => ({ put: { ...keys.call(name, 'batch'), n } });
  const names = Array.from({ length: 24 }, (_, at) => `batch${at}`);
  for (const table of [memory, engine.table]) {
    await table.writeAll(names.map((name, at) => put(name, at)));
    await table.writeAll([put('batch0', 100), { delete: keys.call('batch1', 'batch') }, { delete: keys.call('missing', 'batch') }]);
    await expect(table.writeAll([put('batch2', 1), put('batch2', 2)])).rejects.toThrow();
    await expect(table.writeAll(Array.from({ length: 26 }, (_, at) => put(`more${at}`, at)))).rejects.toThrow();
  }
  const all = [...names, 'missing', 'more0'].map((name) => keys.call(name, 'batch'));
  expect(await memory.getAll(all)).toEqual(await engine.table.getAll(all));
  expect(await memory.get(keys.call('batch0', 'batch'))).toMatchObject({ n: 100 });
});
