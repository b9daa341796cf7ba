import { createHash, type Hash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import type { AwsAccess } from '../../aws/aws-client.ts';
import { openBucket } from '../../aws/bucket.ts';
import { readEnvironment } from '../../runtime/environment.ts';
import { followLog, LogMismatch, type LogPosition, type RegistrySource } from '../registry-source.ts';
import { indexFormat } from './search-index.ts';

export interface SnapshotStore {
  /** Reads a file; undefined if it does not exist. */
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  write(name: string, content: AsyncIterable<Uint8Array>, bytes: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Snapshots in an S3 bucket, under one prefix. */
export const bucketSnapshots = (bucket: string, access?: AwsAccess): SnapshotStore => openBucket(bucket, 'search-index/', access);

export function snapshotsFromEnvironment(): SnapshotStore | undefined {
  const { snapshotBucket } = readEnvironment([], ['snapshotBucket']);
  return snapshotBucket ? bucketSnapshots(snapshotBucket) : undefined;
}

const manifestName = 'newest.json';

const manifest = z.object({
  format: z.int(),
  seq: z.int(),
  digest: z.string().nullable(),
  file: z.string(),
  sha256: z.string(),
});

export class UnusableSnapshot extends Error {
  override readonly name = 'UnusableSnapshot';
}

async function readManifest(store: Pick<SnapshotStore, 'read'>): Promise<z.infer<typeof manifest> | undefined> {
  const content = await store.read(manifestName);
  if (!content) return undefined;
  const text = Buffer.concat(await Array.fromAsync(content)).toString();
  try {
    return manifest.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function* digested(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}

/** A snapshot is outdated after this many changes, or this long after the first change. */
const staleness = { changes: 1_000, ms: 3_600_000 };

/**
 * Whether the newest snapshot is missing, unreadable or outdated, or belongs to a different history. New instances apply all changes since the
 * snapshot, so their number has to stay small.
 */
export async function isSnapshotDue(
  store: Pick<SnapshotStore, 'read'>,
  source: Pick<RegistrySource, 'entriesAfter' | 'head'>,
  nowMs = Date.now(),
): Promise<boolean> {
  const newest = await readManifest(store);
  if (newest?.format !== indexFormat) return true;
  let changes = 0;
  try {
    for await (const { entries } of followLog(source, newest, await source.head())) {
      const isOld = entries.some(({ at }) => nowMs - Date.parse(at) >= staleness.ms);
      changes += entries.flatMap((entry) => entry.changes).length;
      if (isOld || changes >= staleness.changes) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof LogMismatch) return true;
    throw error;
  }
}

/** How far ahead of an index a snapshot must be to be opened instead: applying so many entries of a bulk takes longer. */
const worthOpening = 50;

/** Whether the newest snapshot is well ahead of a position in the log. */
export async function isSnapshotAhead(store: Pick<SnapshotStore, 'read'>, { seq }: LogPosition): Promise<boolean> {
  const newest = await readManifest(store);
  return newest?.format === indexFormat && newest.seq - seq >= worthOpening;
}

/**
 * Copies the newest snapshot to a file.
 * @returns its position in the log
 * @throws UnusableSnapshot if the snapshot is missing, damaged or in a different format
 */
export async function loadSnapshot(store: SnapshotStore, file: string): Promise<LogPosition> {
  const newest = await readManifest(store);
  if (!newest) throw new UnusableSnapshot('its snapshot has no readable manifest');
  if (newest.format !== indexFormat) throw new UnusableSnapshot('its snapshot has a different format');
  const content = await store.read(newest.file);
  // the next snapshot, saved meanwhile, has replaced the file
  if (!content && (await readManifest(store))?.file !== newest.file) return loadSnapshot(store, file);
  if (!content) throw new UnusableSnapshot('the file of its snapshot is missing');
  const hash = createHash('sha256');
  await pipeline(digested(content, hash), createWriteStream(file));
  if (hash.digest('hex') !== newest.sha256) throw new UnusableSnapshot('the file of its snapshot is damaged');
  return { seq: newest.seq, digest: newest.digest };
}

/** Writes the file, then the manifest that names it, then removes the previous file. */
export async function saveSnapshot(store: SnapshotStore, file: string, { seq, digest }: LogPosition): Promise<void> {
  const previous = await readManifest(store);
  const hash = createHash('sha256');
  const { size } = await stat(file);
  const name = `index-${randomUUID()}.sqlite`;
  await store.write(name, digested(createReadStream(file), hash), size);
  const text = Buffer.from(JSON.stringify({ format: indexFormat, seq, digest, file: name, sha256: hash.digest('hex') }));
  await store.write(manifestName, Readable.from([text]), text.length);
  if (previous) await store.remove(previous.file);
}
