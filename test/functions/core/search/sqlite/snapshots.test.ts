import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { startS3 } from '../../../../../bin/local/s3.ts';
import { unavailable } from '../../../../../functions/core/api-error.ts';
import { log } from '../../../../../functions/core/log.ts';
import { openIntents } from '../../../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../../functions/core/registry/services.ts';
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

  test('where there is none', () => expect(isSnapshotDue(newStore(), logOf(0), nowMs)).resolves.toBe(true));

  test.each<[string, RegistrySource, boolean]>([
    ['nothing was changed', logOf(0), false],
    ['999 entries were made within the hour', logOf(999, hourMs - 1), false],
    ['one entry was made an hour ago', logOf(1, hourMs), true],
    ['1,000 entries were made', logOf(1_000), true],
    ['33 entries of 30 changes were made', logOf(33, 0, { changes: 30 }), false],
    ['34 entries of 30 changes were made', logOf(34, 0, { changes: 30 }), true],
    ['the head is behind', logOf(0, 0, { head: 9 }), true],
  ])('after the newest, if %s', async (_, source, isDue) => {
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
  ])('%s', async (_, reason, spoil) => {
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
    await createAction({ source, snapshots })();
    return { table, intents, source, snapshots, create };
  }

  async function search(source: RegistrySource, snapshots: SnapshotStore): Promise<string[]> {
    const engine = openSqliteEngine(source, snapshots);
    const { hits } = await engine.search(searchQuery.parse({}));
    await engine.close();
    return hits.map(({ intent }) => intent.intent_uid);
  }

  test('starts from the newest snapshot and catches up, without reading the whole registry', async () => {
    const { source, snapshots, intents } = await start();
    await intents.remove(uid('c'), () => true);
    const readAll = jest.spyOn(source, 'readAll');
    expect(await search(source, snapshots)).toEqual([uid('a'), uid('b')]);
    expect(readAll).not.toHaveBeenCalled();
    expect(warn).not.toHaveBeenCalled();
  });

  test('starts from a snapshot that is saved while it starts', async () => {
    const { source, snapshots, create } = await start();
    const read: SnapshotStore['read'] = async (name) => {
      if (name === 'newest.json') {
        await create('meanwhile');
        snapshots.objects.clear();
        await createAction({ source, snapshots })();
      }
      return snapshots.read(name);
    };
    expect(await search(source, { ...snapshots, read })).toContain(uid('meanwhile'));
    expect(warn).not.toHaveBeenCalled();
  });

  test.each<[string, string, SnapshotStore]>([
    ['there is none', 'its snapshot has no readable manifest', newStore()],
    ['it cannot be read', 'its snapshot cannot be read', { ...newStore(), read: () => Promise.reject(new Error('no bucket')) }],
  ])('builds its index from the registry and says so if %s', async (_, reason, snapshots) => {
    const { source } = await start();
    expect(await search(source, snapshots)).toHaveLength(3);
    expect(warn).toHaveBeenCalledWith('the search index is rebuilt from the registry', expect.objectContaining({ reason }));
  });

  test.each<[string, number]>([
    ['its head is behind', 0],
    ['it has another history that has come as far', 1],
    ['it has another history that has come further', 3],
  ])('builds its index from a restored table if %s', async (_, written) => {
    const { table, source, create } = await start();
    const earlier = table.items();
    await create('lost');
    const snapshots = newStore();
    await createAction({ source, snapshots })();
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

  test('goes on with a snapshot that it has opened if the table fails meanwhile', async () => {
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

  test('leaves no file behind', async () => {
    const { source } = await start();
    process.env.TMPDIR = await mkdtemp(join(folder, 'temporary-'));
    await search(source, newStore());
    expect(await readdir(process.env.TMPDIR)).toEqual([]);
    delete process.env.TMPDIR;
  });
});
