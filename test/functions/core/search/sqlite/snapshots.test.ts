import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { startS3 } from '../../../../../bin/local/s3.ts';
import { openIntents } from '../../../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../../functions/core/registry/services.ts';
import { unavailable } from '../../../../../functions/core/runtime/api-error.ts';
import { log } from '../../../../../functions/core/runtime/log.ts';
import type { RegistrySource } from '../../../../../functions/core/search/registry-source.ts';
import { openSqliteEngine } from '../../../../../functions/core/search/sqlite/engine.ts';
import {
  bucketSnapshots,
  isSnapshotDue,
  loadSnapshot,
  type SnapshotStore,
  saveSnapshot,
  UnusableSnapshot,
} from '../../../../../functions/core/search/sqlite/snapshots.ts';
import { createAction } from '../../../../../functions/snapshot-search-index.ts';
import type { LogEntry } from '../../../../../schemas/changes.ts';
import { searchQuery } from '../../../../../schemas/search.ts';
import { makeFolder } from '../../../../support/folder.ts';
import { intentOf, serviceNamed } from '../../../../support/records.ts';
import { openMemoryTable } from '../../../../world/memory-table.ts';

const folder = makeFolder();
const file = join(folder, 'index.sqlite');
const content = Buffer.alloc(300_000, 'a page of an index ');

beforeEach(() => writeFile(file, content));

/** An entry of a log. */
const seenAt = (seq: number) => ({ seq, digest: `sha-256=${seq}` });

/** A bucket in memory. */
function newStore() {
  const objects = new Map<string, Buffer>();
  const store: SnapshotStore = {
    read: async (name) =>
      objects.get(name) &&
      (async function* () {
        yield objects.get(name) as Buffer;
      })(),
    write: async (name, chunks) => void objects.set(name, Buffer.concat(await Array.fromAsync(chunks))),
    remove: async (name) => void objects.delete(name),
  };
  return { ...store, objects };
}

test('the newest snapshot comes back from a bucket as it was saved, and replaces the earlier ones', async () => {
  const inBucket = join(folder, 's3');
  const s3 = await startS3({ folder: inBucket, buckets: ['kept'] });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const store = bucketSnapshots('kept', { endpoint: s3.endpoint, region: 'eu-west-1', credentials });
  const loaded = join(folder, 'loaded.sqlite');
  for (const [seq, text] of [content, Buffer.from('another'), content].entries()) {
    await writeFile(file, text);
    await saveSnapshot(store, file, seenAt(seq));
    expect(await loadSnapshot(store, loaded)).toEqual(seenAt(seq));
    expect((await readFile(loaded)).equals(text)).toBe(true);
  }
  expect(await readdir(inBucket)).toHaveLength(2);
  await s3.stop();
});

describe('a snapshot is due', () => {
  const hourMs = 3_600_000;
  const nowMs = Date.parse('2027-03-01T12:00:00Z');

  /** A registry whose log goes on from entry 10 with so many entries, the first of which was made so long ago. */
  const logOf = (count: number, ageMs = 0, { head = 10 + count, changes = 1 } = {}): RegistrySource => {
    const entries = Array.from({ length: count }, (_, at) => ({
      seq: 11 + at,
      at: new Date(nowMs - (at === 0 ? ageMs : 0)).toISOString(),
      previous: at === 0 ? seenAt(10).digest : '',
      changes: Array.from({ length: changes }, (_, n) => ({ kind: 'intent', id: `a.example:n${n}:v1`, action: 'create' })),
    })) as unknown as LogEntry[];
    return {
      head: async () => seenAt(head),
      async *entriesAfter() {
        for (let start = 0; start < count; start += 400) yield entries.slice(start, start + 400);
      },
    } as Partial<RegistrySource> as RegistrySource;
  };

  test('a snapshot is due where there is none', () => expect(isSnapshotDue(newStore(), logOf(0), nowMs)).resolves.toBe(true));

  test.each<[string, RegistrySource, boolean]>([
    ['nothing was changed', logOf(0), false],
    ['999 entries were made within the hour', logOf(999, hourMs - 1), false],
    ['one entry was made an hour ago', logOf(1, hourMs), true],
    ['1,000 entries were made', logOf(1_000), true],
    ['33 entries of 30 changes were made', logOf(33, 0, { changes: 30 }), false],
    ['34 entries of 30 changes were made', logOf(34, 0, { changes: 30 }), true],
    ['the head is behind', logOf(0, 0, { head: 9 }), true],
  ])('the age and changes of the newest snapshot decide whether one is due: %s', async (_, source, isDue) => {
    const store = newStore();
    await saveSnapshot(store, file, seenAt(10));
    await expect(isSnapshotDue(store, source, nowMs)).resolves.toBe(isDue);
  });
});

describe('loadSnapshot refuses', () => {
  const newest = 'newest.json';
  type Store = ReturnType<typeof newStore>;
  const manifestOf = ({ objects }: Store) => JSON.parse(String(objects.get(newest)));
  const edit = (store: Store, change: object) =>
    store.objects.set(newest, Buffer.from(JSON.stringify({ ...manifestOf(store), ...change })));

  test.each<[string, string, (store: Store) => unknown]>([
    ['a missing one', 'its snapshot has no readable manifest', ({ objects }) => objects.delete(newest)],
    ['an unreadable manifest', 'its snapshot has no readable manifest', ({ objects }) => objects.set(newest, Buffer.from('{"format":'))],
    ['an incomplete manifest', 'its snapshot has no readable manifest', (store) => edit(store, { seq: undefined })],
    ['another format', 'its snapshot has a different format', (store) => edit(store, { format: 0 })],
    ['a missing file', 'the file of its snapshot is missing', (store) => store.objects.delete(manifestOf(store).file)],
    [
      'a damaged file',
      'the file of its snapshot is damaged',
      (store) => store.objects.set(manifestOf(store).file, Buffer.from(content).fill('b', 9, 10)),
    ],
  ])('loadSnapshot refuses %s', async (_, reason, spoil) => {
    const store = newStore();
    await saveSnapshot(store, file, seenAt(0));
    spoil(store);
    const loading = loadSnapshot(store, join(folder, 'loaded.sqlite'));
    await expect(loading).rejects.toBeInstanceOf(UnusableSnapshot);
    await expect(loading).rejects.toThrow(reason);
  });
});

describe('a search instance', () => {
  const warn = jest.spyOn(log, 'warn').mockImplementation(() => {});
  const uid = (slug: string) => `kept.example:${slug}:v1`;

  /** A registry of three intents, and its snapshot. */
  async function start() {
    warn.mockClear();
    const table = openMemoryTable();
    const intents = openIntents(table);
    const { service_id } = await openServices(table).create(serviceNamed('Kept'));
    const create = (slug: string) => intents.create(service_id, intentOf(uid(slug)));
    for (const slug of ['a', 'b', 'c']) await create(slug);
    const source = { ...openRegistry(table) };
    const snapshots = newStore();
    await createAction({ source, snapshots, table })();
    return { table, intents, source, snapshots, create };
  }

  async function search(source: RegistrySource, snapshots: SnapshotStore): Promise<string[]> {
    const engine = openSqliteEngine(source, snapshots);
    const { hits } = await engine.search(searchQuery.parse({}));
    await engine.close();
    return hits.map(({ intent }) => intent.intent_uid);
  }

  test('a search instance starts from the newest snapshot and catches up, without reading the whole registry', async () => {
    const { source, snapshots, intents } = await start();
    await intents.remove(uid('c'), () => true);
    const readAll = jest.spyOn(source, 'readAll');
    expect(await search(source, snapshots)).toEqual([uid('a'), uid('b')]);
    expect(readAll).not.toHaveBeenCalled();
    expect(warn).not.toHaveBeenCalled();
  });

  test('a search instance starts from a snapshot that is saved while it starts', async () => {
    const { table, source, snapshots, create } = await start();
    const read: SnapshotStore['read'] = async (name) => {
      if (name === 'newest.json') {
        await create('meanwhile');
        snapshots.objects.clear();
        await createAction({ source, snapshots, table })();
      }
      return snapshots.read(name);
    };
    expect(await search(source, { ...snapshots, read })).toContain(uid('meanwhile'));
    expect(warn).not.toHaveBeenCalled();
  });

  test.each<[string, string, SnapshotStore]>([
    ['there is none', 'its snapshot has no readable manifest', newStore()],
    ['it cannot be read', 'its snapshot cannot be read', { ...newStore(), read: () => Promise.reject(new Error('no bucket')) }],
  ])('a search instance builds its index from the registry and says so if %s', async (_, reason, snapshots) => {
    const { source } = await start();
    expect(await search(source, snapshots)).toHaveLength(3);
    expect(warn).toHaveBeenCalledWith('the search index is rebuilt from the registry', expect.objectContaining({ reason }));
  });

  test.each<[string, number]>([
    ['its head is behind', 0],
    ['it has another history that has come as far', 1],
    ['it has another history that has come further', 3],
  ])('a search instance builds its index from a restored table if %s', async (_, written) => {
    const { table, source, create } = await start();
    const earlier = table.items();
    await create('lost');
    const snapshots = newStore();
    await createAction({ source, snapshots, table })();
    for (const { pk, sk } of table.items()) await table.delete({ pk, sk });
    for (const item of earlier) await table.put(item);
    for (let n = 0; n < written; n++) await create(`other-${n}`);
    const restored = openRegistry(table);
    expect(await search(restored, snapshots)).toEqual([
      uid('a'),
      uid('b'),
      uid('c'),
      ...['0', '1', '2'].slice(0, written).map((n) => uid(`other-${n}`)),
    ]);
    expect(warn.mock.calls).toMatchObject([[expect.anything(), { reason: 'the log does not continue from the position of the index' }]]);
    expect(await isSnapshotDue(snapshots, restored)).toBe(true);
  });

  test('a search instance goes on with a snapshot that it has opened if the table fails meanwhile', async () => {
    const { source, snapshots, create } = await start();
    await create('d');
    const readRecords = jest.spyOn(source, 'readRecords').mockRejectedValueOnce(unavailable('The database of the gate cannot be reached.'));
    const readSnapshot = jest.spyOn(snapshots, 'read');
    const engine = openSqliteEngine(source, snapshots);
    const find = () => engine.search(searchQuery.parse({}));
    await expect(find()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    const reads = readSnapshot.mock.calls.length;
    expect((await find()).total).toBe(4);
    expect([readRecords.mock.calls.length, readSnapshot.mock.calls.length]).toEqual([2, reads]);
    await engine.close();
  });

  test('a search instance leaves no file behind', async () => {
    const { source } = await start();
    process.env.TMPDIR = await mkdtemp(join(folder, 'temporary-'));
    await search(source, newStore());
    expect(await readdir(process.env.TMPDIR)).toEqual([]);
    delete process.env.TMPDIR;
  });
});

/** Entries of a log that change 30 intents each, as bulk changes do; two intents are new, the others are replaced again and again. */
async function startBulk() {
  const table = openMemoryTable();
  const intents = openIntents(table);
  const { service_id } = await openServices(table).create(serviceNamed('Bulk'));
  const uid = (n: number) => `bulk.example:n${n}:v1`;
  const source = { ...openRegistry(table) };
  let [count, entries] = [0, 0];
  const change = async (wanted: number) => {
    for (let n = 0; n < wanted; n++) {
      const known = count;
      const replaced = Array.from({ length: Math.min(28, known) }, (_, at) =>
        intentOf(uid(at), { description: `Written by entry ${entries}` }),
      );
      const steps = [
        ...[uid(count++), uid(count++)].map((intent_uid) => ({ action: 'create' as const, intent: intentOf(intent_uid) })),
        ...replaced.map((intent) => ({ action: 'update' as const, intent })),
      ];
      await intents.apply(service_id, steps);
      entries++;
    }
  };
  const snapshots = newStore();
  const save = createAction({ source, snapshots, table });
  /** What a search finds, in full. */
  const found = async (engine: ReturnType<typeof openSqliteEngine>) => {
    const { hits, total } = await engine.search(searchQuery.parse({ page_size: '100' }));
    return [total, ...hits.map(({ intent }) => [intent.intent_uid, intent.description])];
  };
  /** What an index shows that was built from the registry. */
  const expected = async () => {
    const fresh = openSqliteEngine(source);
    const all = await found(fresh);
    await fresh.close();
    return all;
  };
  return { table, source, snapshots, save, change, found, expected };
}

type Bulk = Awaited<ReturnType<typeof startBulk>>;

describe('a search after a bulk', () => {
  const warn = jest.spyOn(log, 'warn').mockImplementation(() => {});
  const newest = 'newest.json';
  const manifestOf = ({ snapshots }: Bulk) => JSON.parse(String(snapshots.objects.get(newest)));
  const withManifest = (bulk: Bulk, change: object) =>
    bulk.snapshots.objects.set(newest, Buffer.from(JSON.stringify({ ...manifestOf(bulk), ...change })));

  test.each<[string, { isOpened: boolean; warnings?: number; meanwhile(bulk: Bulk): unknown }]>([
    ['nobody has saved a snapshot', { isOpened: false, meanwhile: ({ change }) => change(90) }],
    [
      'a snapshot of the whole bulk has been saved',
      {
        isOpened: true,
        meanwhile: async ({ change, save }) => {
          await change(90);
          await save();
        },
      },
    ],
    [
      'a snapshot has been saved in the middle of the bulk',
      {
        isOpened: true,
        meanwhile: async ({ change, save }) => {
          await change(55);
          await save();
          await change(35);
        },
      },
    ],
    [
      'a snapshot has been saved soon after the bulk began',
      {
        isOpened: false,
        meanwhile: async ({ change, save }) => {
          await change(40);
          await save();
          await change(50);
        },
      },
    ],
    [
      'the snapshot has the format of a later version',
      {
        isOpened: false,
        meanwhile: async (bulk) => {
          await bulk.change(90);
          await bulk.save();
          withManifest(bulk, { format: 1_000 });
        },
      },
    ],
    [
      'the snapshot is damaged',
      {
        isOpened: false,
        warnings: 2,
        meanwhile: async (bulk) => {
          await bulk.change(90);
          await bulk.save();
          withManifest(bulk, { sha256: 'another' });
        },
      },
    ],
    [
      'the file of the snapshot is missing',
      {
        isOpened: false,
        warnings: 2,
        meanwhile: async (bulk) => {
          await bulk.change(90);
          await bulk.save();
          bulk.snapshots.objects.delete(manifestOf(bulk).file);
        },
      },
    ],
    [
      'the bucket does not answer',
      {
        isOpened: false,
        warnings: 2,
        meanwhile: async ({ change, snapshots }) => {
          await change(90);
          snapshots.objects.get = () => {
            throw new Error('no bucket');
          };
        },
      },
    ],
  ])('a search finds everything, and applies only what newer snapshots lack, if %s', async (_, { isOpened, warnings = 0, meanwhile }) => {
    const bulk = await startBulk();
    const { source, snapshots, save, change, found, expected } = bulk;
    await change(1);
    await save();
    const engine = openSqliteEngine(source, snapshots);
    await found(engine);
    warn.mockClear();
    await meanwhile(bulk);
    const readRecords = jest.spyOn(source, 'readRecords');
    const readAll = jest.spyOn(source, 'readAll');
    const all = await found(engine);
    const applied = readRecords.mock.calls.flatMap(([names]) => names).length;
    expect({ isOpened: applied < 200, rebuilt: readAll.mock.calls.length, warnings: warn.mock.calls.length }).toEqual({
      isOpened,
      rebuilt: 0,
      warnings,
    });
    expect(all).toEqual(await expected());
    await engine.close();
  });

  test('a search after a bulk opens yet another snapshot if one is saved while it opens the first', async () => {
    const { source, snapshots, save, change, found, expected } = await startBulk();
    await change(1);
    await save();
    const files: string[] = [];
    const read: SnapshotStore['read'] = async (name) => {
      if (name === newest || files.push(name) !== 2) return snapshots.read(name);
      const content = await Array.fromAsync((await snapshots.read(name)) ?? []);
      await change(60);
      await save();
      return Readable.from(content);
    };
    const engine = openSqliteEngine(source, { ...snapshots, read });
    await found(engine);
    await change(60);
    await save();
    expect(await found(engine)).toEqual(await expected());
    expect(new Set(files).size).toBe(3);
    await engine.close();
  });

  test('a search after a bulk reads the manifest again if a newer snapshot has removed the file that it names', async () => {
    const { snapshots, save, change } = await startBulk();
    await change(1);
    await save();
    await change(40);
    const read: SnapshotStore['read'] = async (name) => {
      const content = await snapshots.read(name);
      if (name === newest && isFirst) {
        isFirst = false;
        await save();
      }
      return content;
    };
    let isFirst = true;
    expect(await loadSnapshot({ ...snapshots, read }, join(folder, 'raced.sqlite'))).toMatchObject({ seq: 42 });
  });
});

describe('a run that saves snapshots', () => {
  const info = jest.spyOn(log, 'info').mockImplementation(() => {});
  const saved = ({ snapshots }: Bulk) => JSON.parse(String(snapshots.objects.get('newest.json') ?? '{}')).seq;
  /** Does something while the registry is being read for the first time. */
  const whileReading = (bulk: Bulk, run: () => unknown) => {
    const { readAll } = bulk.source;
    jest.spyOn(bulk.source, 'readAll').mockImplementationOnce(async function* (cursor) {
      yield* readAll(cursor);
      await run();
    });
  };

  test.each<[string, { meanwhile(bulk: Bulk): unknown; remainingMs?: () => number; seq: number }]>([
    ['nothing changes', { meanwhile: () => {}, seq: 2 }],
    ['fewer than a thousand changes are made', { meanwhile: ({ change }) => change(33), seq: 2 }],
    ['more than a thousand changes are made', { meanwhile: ({ change }) => change(40), seq: 42 }],
    [
      'more than a thousand changes are made, but its time is up',
      { meanwhile: ({ change }) => change(40), remainingMs: () => 1e-9, seq: 2 },
    ],
    ['another run begins', { meanwhile: ({ save }) => save(), seq: 2 }],
  ])('a run that saves snapshots saves the last one that is due if meanwhile %s', async (_, { meanwhile, remainingMs, seq }) => {
    const bulk = await startBulk();
    await bulk.change(1);
    const writes = jest.spyOn(bulk.snapshots, 'write');
    whileReading(bulk, () => meanwhile(bulk));
    info.mockClear();
    await bulk.save({}, remainingMs);
    expect([saved(bulk), writes.mock.calls.length]).toEqual([seq, seq === 2 ? 2 : 4]);
    expect(info.mock.calls).toEqual([['the snapshot of the search index is as new as it should be', { is_new: true, seq }]]);
  });

  test('a run that saves snapshots lets the next run begin after a failure', async () => {
    const bulk = await startBulk();
    whileReading(bulk, () => Promise.reject(unavailable('The database of the gate cannot be reached.')));
    await expect(bulk.save()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await bulk.save();
    expect(saved(bulk)).toBe(1);
  });
});
