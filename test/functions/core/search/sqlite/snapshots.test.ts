import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type RunningS3, startS3 } from '../../../../../bin/local/s3.ts';
import { log } from '../../../../../functions/core/log.ts';
import { openIntents } from '../../../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../../functions/core/registry/services.ts';
import { openSqliteEngine } from '../../../../../functions/core/search/sqlite/engine.ts';
import { bucketSnapshots, type S3Access } from '../../../../../functions/core/search/sqlite/snapshot-stores.ts';
import {
  isSnapshotDue,
  loadSnapshot,
  type SnapshotStore,
  saveSnapshot,
  UnusableSnapshot,
} from '../../../../../functions/core/search/sqlite/snapshots.ts';
import { createAction } from '../../../../../functions/snapshot-search-index.ts';
import { searchQuery } from '../../../../../schemas/search.ts';
import { intentOf, serviceNamed } from '../../../../support/records.ts';
import { startTable, type TestTable } from '../../../../support/table.ts';

let folder: string;
let s3: RunningS3;
let client: S3Access;
let file: string;
const content = Buffer.alloc(300_000, 'a page of an index ');
const buckets = Array.from({ length: 30 }, (_, index) => `bucket-${index}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'snapshots-'));
  file = join(folder, 'index.sqlite');
  s3 = await startS3({ folder: join(folder, 's3'), buckets: [...buckets] });
  client = connect(s3.endpoint);
});
beforeEach(() => writeFile(file, content));
afterAll(async () => {
  await s3.stop();
  await rm(folder, { recursive: true });
});

const connect = (endpoint: string): S3Access => ({
  endpoint,
  region: 'eu-west-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
});

/** A bucket that no other test uses. */
const newStore = () => bucketSnapshots(buckets.pop() ?? '', client);

describe('snapshots', () => {
  test('come back as they were kept, the newest alone', async () => {
    const store = newStore();
    await saveSnapshot(store, file, 1_000);
    await writeFile(file, 'another');
    await saveSnapshot(store, file, 2_000);
    const loaded = join(folder, 'loaded.sqlite');
    expect(await loadSnapshot(store, loaded, 3_000)).toBe(2_000);
    expect(await readFile(loaded, 'utf8')).toBe('another');
  });

  test('may be as large as they like', async () => {
    const store = newStore();
    await saveSnapshot(store, file, 1_000);
    await loadSnapshot(store, join(folder, 'loaded.sqlite'), 1_000);
    expect((await readFile(join(folder, 'loaded.sqlite'))).equals(content)).toBe(true);
  });

  test('leave nothing behind when a newer one is kept', async () => {
    const alone = join(folder, 'alone');
    const other = await startS3({ folder: alone, buckets: ['kept'] });
    const otherClient = connect(other.endpoint);
    for (const asOfMs of [1, 2, 3]) await saveSnapshot(bucketSnapshots('kept', otherClient), file, asOfMs);
    await other.stop();
    expect((await readdir(alone)).length).toBe(2);
  });
});

describe('a snapshot is due', () => {
  const changes = (count: number) => ({
    async *changesSince() {
      for (let left = count; left > 0; left -= 400) {
        yield Array.from({ length: Math.min(left, 400) }, () => ({ rev: '', kind: 'intent' as const, id: '' }));
      }
    },
  });
  const hourMs = 3_600_000;

  test('where there is none', () => expect(isSnapshotDue(newStore(), changes(0), 1)).resolves.toBe(true));

  test.each([
    [0, 0, false],
    [hourMs - 1, 999, false],
    [hourMs, 1, true],
    [12 * hourMs - 1, 0, false],
    [12 * hourMs, 0, true],
    [0, 1_000, true],
    [0, 5_000, true],
  ])('%i ms and %i changes after the newest: %p', async (laterMs, changed, isDue) => {
    const store = newStore();
    await saveSnapshot(store, file, 1_000);
    await expect(isSnapshotDue(store, changes(changed), 1_000 + laterMs)).resolves.toBe(isDue);
  });

  test('if the newest is of another format', async () => {
    const store = newStore();
    const text = Buffer.from(JSON.stringify({ format: 0, as_of_ms: 1_000, file: 'index', sha256: '' }));
    await store.write('newest.json', Readable.from([text]), text.length);
    await expect(isSnapshotDue(store, changes(0), 1_000)).resolves.toBe(true);
  });
});

describe('loadSnapshot refuses', () => {
  const dayMs = 24 * 3600 * 1000;
  const newest = 'newest.json';
  let store: SnapshotStore;
  const put = (name: string, bytes: Uint8Array) => store.write(name, Readable.from([bytes]), bytes.length);
  const readManifest = async () => JSON.parse(Buffer.concat(await Array.fromAsync((await store.read(newest)) ?? [])).toString());
  const indexName = async (): Promise<string> => (await readManifest()).file;
  const editManifest = async (change: Record<string, unknown>) =>
    put(newest, Buffer.from(JSON.stringify({ ...(await readManifest()), ...change })));

  test.each<[string, string, () => Promise<unknown>]>([
    ['a missing one', 'there is no readable manifest', () => store.remove(newest)],
    ['an unreadable manifest', 'there is no readable manifest', () => put(newest, Buffer.from('{"format":'))],
    ['an incomplete manifest', 'there is no readable manifest', () => editManifest({ sha256: undefined })],
    ['another format', 'it has another format', () => editManifest({ format: 0 })],
    ['one of more than a day ago', 'it is outdated', () => editManifest({ as_of_ms: -1 })],
    ['a missing file', 'its file is missing', async () => store.remove(await indexName())],
    ['a damaged file', 'its file is damaged', async () => put(await indexName(), Buffer.from(content).fill('b', 9, 10))],
    ['a file cut short', 'its file is damaged', async () => put(await indexName(), content.subarray(0, 99))],
  ])('%s', async (_, reason, spoil) => {
    store = newStore();
    await saveSnapshot(store, file, 0);
    await spoil();
    const loading = loadSnapshot(store, join(folder, 'loaded.sqlite'), dayMs);
    await expect(loading).rejects.toBeInstanceOf(UnusableSnapshot);
    await expect(loading).rejects.toThrow(reason);
  });
});

describe('a search instance', () => {
  let started: TestTable;
  beforeAll(async () => {
    started = await startTable();
    const { service_id } = await openServices(started.table).create(serviceNamed('Kept'));
    for (let n = 0; n < 5; n++) await openIntents(started.table).create(service_id, intentOf(`kept.example:number-${n}:v1`));
  });
  afterAll(() => started.stop());

  const count = async (snapshots: SnapshotStore) => {
    const engine = openSqliteEngine(openRegistry(started.table), snapshots);
    const { total } = await engine.search(searchQuery.parse({}));
    await engine.close();
    return total;
  };

  test('starts from the newest snapshot and catches up, without reading the whole registry', async () => {
    const snapshots = newStore();
    await createAction({ source: openRegistry(started.table), snapshots })();
    await openIntents(started.table).remove('kept.example:number-4:v1', () => true);
    started.operations.length = 0;
    expect(await count(snapshots)).toBe(4);
    // the changes since, and their records
    expect(started.operations).toEqual(['Query', 'BatchGetItem']);
  });

  test.each([
    ['there is none', 'there is no readable manifest', newStore],
    ['there is no bucket', 'it cannot be read', () => bucketSnapshots('none', client)],
  ])('builds its index from the registry and says so if %s', async (_, reason, open) => {
    const warn = jest.spyOn(log, 'warn');
    started.operations.length = 0;
    expect(await count(open())).toBe(4);
    // names, pointers, records; then the changes since
    expect(started.operations).toEqual(['Query', 'Query', 'BatchGetItem', 'Query', 'BatchGetItem']);
    expect(warn).toHaveBeenCalledWith(
      'the search index is rebuilt from the registry because its snapshot cannot be used',
      expect.objectContaining({ reason }),
    );
    warn.mockRestore();
  });

  test('leaves no file behind', async () => {
    process.env.TMPDIR = await mkdtemp(join(folder, 'temporary-'));
    await count(newStore());
    expect(await readdir(process.env.TMPDIR)).toEqual([]);
    delete process.env.TMPDIR;
  });
});
