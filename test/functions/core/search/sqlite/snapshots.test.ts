import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { log } from '../../../../../functions/core/log.ts';
import { openSqliteEngine } from '../../../../../functions/core/search/sqlite/engine.ts';
import { bucketSnapshots, folderSnapshots } from '../../../../../functions/core/search/sqlite/snapshot-stores.ts';
import { loadSnapshot, type SnapshotStore, saveSnapshot, UnusableSnapshot } from '../../../../../functions/core/search/sqlite/snapshots.ts';
import { openIntents } from '../../../../../functions/core/store/intents.ts';
import { openRegistry } from '../../../../../functions/core/store/registry.ts';
import { openServices } from '../../../../../functions/core/store/services.ts';
import { createAction } from '../../../../../functions/snapshot-search-index.ts';
import { searchQuery } from '../../../../../schemas/search.ts';
import { intentOf, serviceNamed } from '../../../../support/records.ts';
import { startTable, type TestTable } from '../../../../support/table.ts';

/** As much of S3 as snapshots use, on loopback. */
async function startBucket(): Promise<{ store: SnapshotStore; names: () => string[]; stop: () => void }> {
  const objects = new Map<string, Buffer>();
  const server: Server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '', 'http://bucket').pathname;
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
    const object = objects.get(path);
    if (request.method === 'PUT') objects.set(path, dechunk(body, request.headers['x-amz-decoded-content-length']));
    if (request.method === 'DELETE') objects.delete(path);
    if (request.method !== 'GET') response.end();
    else if (object) response.end(object);
    else response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-west-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const stop = () => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  };
  return { store: bucketSnapshots('kept', client), names: () => [...objects.keys()], stop };
}

/** Undoes aws-chunked framing, `<hex length>[;…]\r\n<bytes>\r\n` up to a chunk of no bytes. */
function dechunk(body: Buffer, decodedLength: string | string[] | undefined): Buffer {
  if (decodedLength === undefined) return body;
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.toString('latin1', at, lineEnd), 16);
    if (!(length > 0)) return Buffer.concat(parts);
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}

let folder: string;
let bucket: Awaited<ReturnType<typeof startBucket>>;
let file: string;
const content = Buffer.alloc(300_000, 'a page of an index ');

beforeAll(async () => {
  bucket = await startBucket();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'snapshots-'));
  file = join(folder, 'index.sqlite');
  await writeFile(file, content);
});
afterAll(() => bucket.stop());

describe.each([
  ['a folder', () => folderSnapshots(join(folder, 'kept'))],
  ['a bucket', () => bucket.store],
])('snapshots in %s', (_, open) => {
  test('come back as they were kept, the newest alone', async () => {
    const store = open();
    await saveSnapshot(store, file, 1_000);
    await writeFile(file, 'another');
    await saveSnapshot(store, file, 2_000);
    const loaded = join(folder, 'loaded.sqlite');
    expect(await loadSnapshot(store, loaded, 3_000)).toBe(2_000);
    expect(await readFile(loaded, 'utf8')).toBe('another');
  });

  test('may be as large as they like', async () => {
    const store = open();
    await saveSnapshot(store, file, 1_000);
    await loadSnapshot(store, join(folder, 'loaded.sqlite'), 1_000);
    expect((await readFile(join(folder, 'loaded.sqlite'))).equals(content)).toBe(true);
  });

  test('leave nothing behind when a newer one is kept', async () => {
    const store = open();
    for (const asOfMs of [1, 2, 3]) await saveSnapshot(store, file, asOfMs);
    const names = _ === 'a folder' ? await readdir(join(folder, 'kept')) : bucket.names();
    expect(names.length).toBe(2);
  });
});

describe('loadSnapshot refuses', () => {
  const dayMs = 24 * 3600 * 1000;
  const kept = () => join(folder, 'kept');
  const indexName = async () => (await readdir(kept())).find((name) => name.startsWith('index')) ?? '';
  const editManifest = async (change: Record<string, unknown>) => {
    const path = join(kept(), 'newest.json');
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), ...change }));
  };

  test.each<[string, string, () => Promise<unknown>]>([
    ['a missing one', 'there is no readable manifest', () => rm(kept(), { recursive: true })],
    ['an unreadable manifest', 'there is no readable manifest', () => writeFile(join(kept(), 'newest.json'), '{"format":')],
    ['an incomplete manifest', 'there is no readable manifest', () => editManifest({ sha256: undefined })],
    ['another format', 'it has another format', () => editManifest({ format: 0 })],
    ['one of more than a day ago', 'it is outdated', () => editManifest({ as_of_ms: -1 })],
    ['a missing file', 'its file is missing', async () => rm(join(kept(), await indexName()))],
    ['a damaged file', 'its file is damaged', async () => writeFile(join(kept(), await indexName()), content.fill('b', 9, 10))],
    ['a file cut short', 'its file is damaged', async () => writeFile(join(kept(), await indexName()), content.subarray(0, 99))],
  ])('%s', async (_, reason, spoil) => {
    const store = folderSnapshots(kept());
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

  test('starts from the newest snapshot and catches up, without reading the whole table', async () => {
    const snapshots = folderSnapshots(join(folder, 'kept'));
    await createAction({ source: openRegistry(started.table), snapshots })();
    await openIntents(started.table).remove('kept.example:number-4:v1', () => true);
    started.operations.length = 0;
    expect(await count(snapshots)).toBe(4);
    expect(started.operations).not.toContain('Scan');
  });

  test.each([
    ['there is none', 'there is no readable manifest', folderSnapshots('/nowhere/at/all')],
    ['they cannot be reached', 'it cannot be read', { read: () => Promise.reject(new Error('down')) } as unknown as SnapshotStore],
  ])('builds its index from the table and says so where %s', async (_, reason, snapshots) => {
    const warn = jest.spyOn(log, 'warn');
    started.operations.length = 0;
    expect(await count(snapshots)).toBe(4);
    expect(started.operations).toContain('Scan');
    expect(warn).toHaveBeenCalledWith(
      'the search index is rebuilt from the table because its snapshot cannot be used',
      expect.objectContaining({ reason }),
    );
    warn.mockRestore();
  });

  test('leaves no file behind', async () => {
    process.env.TMPDIR = await mkdtemp(join(folder, 'temporary-'));
    await count(folderSnapshots('/nowhere/at/all'));
    expect(await readdir(process.env.TMPDIR)).toEqual([]);
    delete process.env.TMPDIR;
  });
});
