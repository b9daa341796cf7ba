import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openIntents } from '../../../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../../functions/core/registry/services.ts';
import { LogMismatch, type LogPosition } from '../../../../../functions/core/search/registry-source.ts';
import { buildIndex } from '../../../../../functions/core/search/sqlite/engine.ts';
import { catchUp, oneAtATime } from '../../../../../functions/core/search/sqlite/index-sync.ts';
import type { SearchIndex } from '../../../../../functions/core/search/sqlite/search-index.ts';
import { type Key, keys } from '../../../../../functions/core/table/keys.ts';
import { searchQuery } from '../../../../../schemas/search.ts';
import { intentOf, serviceNamed } from '../../../../support/records.ts';
import { openMemoryTable } from '../../../../world/memory-table.ts';

const always = () => true;

/** A registry in memory, and how often it was asked for what. */
async function startRegistry(pageSize?: number) {
  const table = openMemoryTable(pageSize);
  const services = openServices(table);
  const intents = openIntents(table);
  const source = openRegistry(table);
  const read: string[][] = [];
  const queries: number[] = [];
  const counted: typeof source = {
    ...source,
    entriesAfter: (seq) => {
      queries.push(seq);
      return source.entriesAfter(seq);
    },
    readRecords: (names) => {
      read.push(names.map(({ id }) => id));
      return source.readRecords(names);
    },
  };
  const { service_id: serviceId } = await services.create(serviceNamed('First'));
  /** What was read since this was called last. */
  const taken = () => ({ queries: queries.splice(0), read: read.splice(0) });
  return { table, services, intents, source: counted, serviceId, taken };
}

/** What an index finds, with the names of services. */
const foundIn = (index: SearchIndex): string[] =>
  index
    .search(searchQuery.parse({ page_size: '100' }))
    .hits.map(({ intent: { intent_uid, service_name, description } }) => `${intent_uid} of ${service_name}: ${description}`);

const uidOf = (n: number) => `a.example:n${n}:v1`;

describe('an index that follows the log', () => {
  test('an index that follows the log holds what a new one holds, whatever was written or removed between searches', async () => {
    const actions = ['create', 'replace', 'draft', 'remove', 'rename', 'delete', 'leave', 'search'] as const;
    const step = fc.record({ action: fc.constantFrom(...actions), service: fc.nat(1), intent: fc.nat(2) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.constantFrom(1, 2, 100), async (steps, pageSize) => {
        const { source, services, intents, serviceId } = await startRegistry(pageSize);
        const ids = [serviceId, (await services.create(serviceNamed('Second'))).service_id];
        const following = await buildIndex(source, ':memory:');
        const requireSame = async () => {
          await catchUp(source, following);
          const fresh = await buildIndex(source, ':memory:');
          expect(foundIn(following.index)).toEqual(foundIn(fresh.index));
          expect(following.position).toMatchObject({ seq: fresh.position.seq, digest: fresh.position.digest });
          fresh.index.close();
        };
        for (const [at, { action, service, intent }] of steps.entries()) {
          const id = ids[service] as string;
          const input = intentOf(uidOf(intent), { description: `Written at ${at}`, draft: action === 'draft' });
          const named = serviceNamed(`Service ${service} at ${at}`);
          const run = {
            create: () => intents.create(id, input),
            replace: () => intents.replace(uidOf(intent), input, always),
            draft: () => intents.replace(uidOf(intent), input, always),
            remove: () => intents.remove(uidOf(intent), always),
            rename: () => services.replace(id, named, always),
            delete: () => services.remove(id, always),
            // as by a request whose time is up: its intents are left behind
            leave: () => services.remove(id, always, 0),
            search: requireSame,
          }[action];
          await run().catch((error) => expect(error).toMatchObject({ code: 'CONFLICT' }));
        }
        await requireSame();
        following.index.close();
      }),
      { numRuns: 60 },
    );
  });

  test('an index that follows the log reads each record that changed once, in batches, then nothing', async () => {
    const { source, intents, serviceId, taken } = await startRegistry();
    const following = await buildIndex(source, ':memory:');
    for (let n = 0; n < 230; n++) await intents.create(serviceId, intentOf(uidOf(n)));
    for (let n = 0; n < 20; n++) await intents.replace(uidOf(n), intentOf(uidOf(n), { description: 'Changed' }), always);
    taken();
    await catchUp(source, following);
    const { queries, read } = taken();
    expect([queries, read.map((batch) => batch.length)]).toEqual([[1], [100, 100, 30]]);
    expect(following.index.search(searchQuery.parse({ description: 'changed' })).total).toBe(20);
    await catchUp(source, following);
    expect(taken()).toEqual({ queries: [251], read: [] });
  });

  test('an index is built with a turn of the event loop after each part of the registry, so that reads do not time out', async () => {
    const { source, intents, serviceId } = await startRegistry();
    for (let n = 0; n < 250; n++) await intents.create(serviceId, intentOf(uidOf(n)));
    const parts = await Array.fromAsync(source.readAll());
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const readAll = async function* () {
      yield* parts;
    };
    const { index } = await buildIndex({ ...source, readAll }, ':memory:');
    isOver = true;
    expect(parts.length).toBe(3);
    expect(turns).toBeGreaterThanOrEqual(parts.length);
    index.close();
  });

  test('an index that follows the log is told to be built anew if the log does not continue from its position', async () => {
    const { source, intents, serviceId, table } = await startRegistry();
    const { index, position } = await buildIndex(source, ':memory:');
    for (let n = 1; n <= 4; n++) await intents.create(serviceId, intentOf(uidOf(n)));
    const head = await source.head();
    const at = (seq: number): Key => keys.log(position.seq + seq);
    const without = async (...missing: Key[]) => {
      const copy = openMemoryTable();
      for (const item of table.items()) if (!missing.some(({ pk, sk }) => pk === item.pk && sk === item.sk)) await copy.put(item);
      return openRegistry(copy);
    };
    const all = [1, 2, 3, 4].map(at);
    const cases: [string, Awaited<ReturnType<typeof without>>, LogPosition, LogPosition | undefined, isRefused: boolean][] = [
      ['all is there', source, position, head, false],
      ['the next entry has expired', await without(at(1)), position, undefined, true],
      ['an entry between has expired', await without(at(3)), position, undefined, true],
      ['the newest entry has expired', await without(at(4)), position, head, true],
      ['all entries have expired', await without(...all), position, head, true],
      ['all entries have expired, but all were seen', await without(...all), head, head, false],
      ['the head is behind', source, { ...head, seq: head.seq + 3 }, head, true],
      ['the entry that was seen is another one', source, { ...position, digest: 'sha-256=other' }, undefined, true],
      ['the newest entry was seen, but is another one', source, { ...head, digest: 'sha-256=other' }, head, true],
    ];
    for (const [name, registry, from, known, isRefused] of cases) {
      const outcome = await catchUp(registry, { index, position: from, head: known }).catch((error: unknown) => error);
      expect([name, outcome instanceof LogMismatch]).toEqual([name, isRefused]);
    }
    index.close();
  });
});

describe('oneAtATime', () => {
  test('oneAtATime gives a caller a run that begins after its call, and shares it with all who wait', async () => {
    let runs = 0;
    let active = 0;
    const gates: (() => void)[] = [];
    const run = oneAtATime(async () => {
      expect(++active).toBe(1);
      const mine = ++runs;
      await new Promise<void>((resolve) => gates.push(resolve));
      active--;
      return mine;
    });
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    const first = run();
    await settle();
    const second = run();
    const third = run();
    gates[0]?.();
    await settle();
    gates[1]?.();
    expect(await Promise.all([first, second, third])).toEqual([1, 2, 2]);
  });

  test('oneAtATime goes on after a run that failed', async () => {
    let fails = true;
    const run = oneAtATime(async () => {
      if (fails) throw new Error('down');
      return 'up';
    });
    await expect(run()).rejects.toThrow('down');
    fails = false;
    expect(await run()).toBe('up');
  });
});
