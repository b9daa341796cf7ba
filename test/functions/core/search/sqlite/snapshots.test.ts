import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type RunningS3, startS3 } from '../../../../../bin/local/s3.ts';
import { unavailable } from '../../../../../functions/core/api-error.ts';
import { log } from '../../../../../functions/core/log.ts';
import { openIntents } from '../../../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../../functions/core/registry/services.ts';
import type { RegistrySource } from '../../../../../functions/core/search/registry-source.ts';
import { openSqliteEngine } from '../../../../../functions/core/search/sqlite/engine.ts';
import { bucketSnapshots, type S3Access } from '../../../../../functions/core/search/sqlite/snapshot-stores.ts';
import {
  isSnapshotDue,
  loadSnapshot,
  type SnapshotStore,
  saveSnapshot,
  UnusableSnapshot,
} from '../../../../../functions/core/search/sqlite/snapshots.ts';
import type { Key } from '../../../../../functions/core/table/keys.ts';
import type { Item } from '../../../../../functions/core/table/table.ts';
import { createAction } from '../../../../../functions/snapshot-search-index.ts';
import type { LogEntry } from '../../../../../schemas/changes.ts';
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

/** An entry of a log. */
const seenAt = (seq: number) => ({ seq, digest: `sha-256=${seq}` });

/** A bucket that no other test uses. */
const newStore = () => bucketSnapshots(buckets.pop() ?? '', client);

test('the newest snapshot comes back as it was saved, and replaces the earlier ones', async () => {
  const alone = join(folder, 'alone');
  const other = await startS3({ folder: alone, buckets: ['kept'] });
  const store = bucketSnapshots('kept', connect(other.endpoint));
  const loaded = join(folder, 'loaded.sqlite');
  for (const [seq, text] of [content, Buffer.from('another'), content].entries()) {
    await writeFile(file, text);
    await saveSnapshot(store, file, seenAt(seq));
    expect(await loadSnapshot(store, loaded)).toEqual(seenAt(seq));
    expect((await readFile(loaded)).equals(text)).toBe(true);
  }
  await other.stop();
  expect(await readdir(alone)).toHaveLength(2);
});

describe('a snapshot is due', () => {
  const hourMs = 3_600_000;
  const nowMs = Date.parse('2027-03-01T12:00:00Z');

  /** A registry whose log goes on from entry 10 with so many entries, the first of which was made so long ago. */
  const logOf = (
    count: number,
    ageMs = 0,
    { first = 11, previous = seenAt(10).digest, head = 10 + count, changes = 1 } = {},
  ): RegistrySource => {
    const entries = Array.from({ length: count }, (_, at) => ({
      seq: first + at,
      at: new Date(nowMs - (at === 0 ? ageMs : 0)).toISOString(),
      previous: at === 0 ? previous : '',
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
  let store: SnapshotStore;
  const put = (name: string, bytes: Uint8Array) => store.write(name, Readable.from([bytes]), bytes.length);
  const readManifest = async () => JSON.parse(Buffer.concat(await Array.fromAsync((await store.read(newest)) ?? [])).toString());
  const indexName = async (): Promise<string> => (await readManifest()).file;
  const editManifest = async (change: Record<string, unknown>) =>
    put(newest, Buffer.from(JSON.stringify({ ...(await readManifest()), ...change })));

  test.each<[string, string, () => Promise<unknown>]>([
    ['a missing one', 'its snapshot has no readable manifest', () => store.remove(newest)],
    ['an unreadable manifest', 'its snapshot has no readable manifest', () => put(newest, Buffer.from('{"format":'))],
    ['another format', 'its snapshot has another format', () => editManifest({ format: 0 })],
    ['a missing file', 'the file of its snapshot is missing', async () => store.remove(await indexName())],
    ['a damaged file', 'the file of its snapshot is damaged', async () => put(await indexName(), Buffer.from(content).fill('b', 9, 10))],
  ])('%s', async (_, reason, spoil) => {
    store = newStore();
    await saveSnapshot(store, file, seenAt(0));
    await spoil();
    const loading = loadSnapshot(store, join(folder, 'loaded.sqlite'));
    await expect(loading).rejects.toBeInstanceOf(UnusableSnapshot);
    await expect(loading).rejects.toThrow(reason);
  });
});

describe('a search instance', () => {
  const rebuilt = 'the search index is rebuilt from the registry';
  let started: TestTable;
  let serviceId: string;
  beforeAll(async () => {
    started = await startTable();
    serviceId = (await openServices(started.table).create(serviceNamed('Kept'))).service_id;
    for (let n = 0; n < 5; n++) await openIntents(started.table).create(serviceId, intentOf(`kept.example:number-${n}:v1`));
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
    // the head, the entries since, and their records
    expect(started.operations).toEqual(['GetItem', 'Query', 'BatchGetItem']);
  });

  test.each([
    ['there is none', 'its snapshot has no readable manifest', newStore],
    ['there is no bucket', 'its snapshot cannot be read', () => bucketSnapshots('none', client)],
  ])('builds its index from the registry and says so if %s', async (_, reason, open) => {
    const warn = jest.spyOn(log, 'warn');
    started.operations.length = 0;
    expect(await count(open())).toBe(4);
    // the head, for the new index; names, lists, records; then twice the entries since
    expect(started.operations).toEqual(['GetItem', 'Query', 'Query', 'BatchGetItem', 'Query', 'Query']);
    expect(warn).toHaveBeenCalledWith(rebuilt, expect.objectContaining({ reason }));
    warn.mockRestore();
  });

  /** What stands in a table at this moment, to put it back as a restored table is. */
  async function copyOf({ client, tableNames: { registry } }: TestTable) {
    const { Items = [] } = await client.send(new ScanCommand({ TableName: registry, ConsistentRead: true }));
    return Items as (Key & Item)[];
  }

  test.each<[string, number]>([
    ['its head is behind', 0],
    ['it has another history that has come as far', 1],
    ['it has another history that has come further', 3],
  ])('builds its index from a restored table if %s', async (_, written) => {
    const snapshots = newStore();
    const earlier = await copyOf(started);
    await openIntents(started.table).create(serviceId, intentOf('kept.example:lost:v1'));
    await createAction({ source: openRegistry(started.table), snapshots })();
    for (const { pk, sk } of await copyOf(started)) await started.table.delete({ pk, sk });
    for (const item of earlier) await started.table.put(item);
    for (let n = 0; n < written; n++)
      await openIntents(started.table).create(serviceId, intentOf(`kept.example:other-${Date.now()}-${n}:v1`));
    const warn = jest.spyOn(log, 'warn');
    const engine = openSqliteEngine(openRegistry(started.table), snapshots);
    const { hits } = await engine.search(searchQuery.parse({ page_size: '50' }));
    await engine.close();
    expect(warn).toHaveBeenCalledWith(rebuilt, expect.objectContaining({ reason: 'the log does not go on from what it has seen' }));
    warn.mockRestore();
    const listed = await openRegistry(started.table).uidsOf(serviceId);
    expect(hits.map(({ intent }) => intent.intent_uid)).toEqual(listed);
    expect(listed).not.toContain('kept.example:lost:v1');
    expect(await isSnapshotDue(snapshots, openRegistry(started.table))).toBe(true);
  });

  test('goes on with a snapshot that it has opened if the table fails meanwhile', async () => {
    const snapshots = newStore();
    const source = openRegistry(started.table);
    await createAction({ source, snapshots })();
    for (const n of [3, 4]) await openIntents(started.table).create(serviceId, intentOf(`late.example:number-${n}:v1`));
    let fails = true;
    const readRecords: typeof source.readRecords = (names) =>
      fails
        ? Promise.reject(
            unavailable(
              'The database of the gate cannot be reached. Try again after Retry-After; if you were changing something, first check whether it was changed.',
            ),
          )
        : source.readRecords(names);
    const engine = openSqliteEngine({ ...source, readRecords }, snapshots);
    const search = () => engine.search(searchQuery.parse({ namespace: 'late.example' }));
    await expect(search()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    fails = false;
    started.operations.length = 0;
    expect((await search()).total).toBe(2);
    expect(started.operations).toEqual(['Query', 'BatchGetItem']);
    await engine.close();
  });

  test('leaves no file behind', async () => {
    process.env.TMPDIR = await mkdtemp(join(folder, 'temporary-'));
    await count(newStore());
    expect(await readdir(process.env.TMPDIR)).toEqual([]);
    delete process.env.TMPDIR;
  });
});
