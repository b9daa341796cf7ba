import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import { followLog, LogMismatch, type RegistrySource, type Seen } from '../registry-source.ts';
import { indexFormat } from './search-index.ts';

/** Where snapshots are kept: named files. */
export interface SnapshotStore {
  /** undefined if there is no file of that name */
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** replaces the file as a whole */
  write(name: string, content: AsyncIterable<Uint8Array>, bytes: number): Promise<void>;
  remove(name: string): Promise<void>;
}

const manifestName = 'newest.json';

const manifest = z.object({
  format: z.int(),
  seq: z.int(),
  digest: z.string().nullable(),
  file: z.string(),
  sha256: z.string(),
});

/** Why a snapshot cannot be used. */
export class UnusableSnapshot extends Error {
  override readonly name = 'UnusableSnapshot';
}

async function readManifest(store: Pick<SnapshotStore, 'read'>): Promise<z.infer<typeof manifest> | undefined> {
  const content = await store.read(manifestName);
  if (!content) return undefined;
  const text = Buffer.concat(await Array.fromAsync(content)).toString();
  const parsed = manifest.safeParse(parseOrUndefined(text));
  return parsed.data;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Passes bytes on and digests them on the way. */
function digesting() {
  const hash = createHash('sha256');
  const stream = new Transform({
    transform(chunk, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, sha256: () => hash.digest('hex') };
}

/** A snapshot is replaced by a newer one after this many changes, of which one entry of the log may have thirty, or this long after the first. */
const staleness = { changes: 1_000, ms: 3_600_000 };

/**
 * Whether a new snapshot is worth its while: there is none that can be read, or the log has gone on for long, or elsewhere, since the newest
 * one. A new instance applies what has changed since the snapshot that it opens, so what it has to catch up with stays small.
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

/**
 * Copies the newest snapshot to a file.
 * @returns how far it has followed the log
 * @throws UnusableSnapshot if there is none, or it is damaged or of another format
 */
export async function loadSnapshot(store: SnapshotStore, file: string): Promise<Seen> {
  const newest = await readManifest(store);
  if (!newest) throw new UnusableSnapshot('its snapshot has no readable manifest');
  if (newest.format !== indexFormat) throw new UnusableSnapshot('its snapshot has another format');
  const content = await store.read(newest.file);
  if (!content) throw new UnusableSnapshot('the file of its snapshot is missing');
  const { stream, sha256 } = digesting();
  await pipeline(content, stream, createWriteStream(file));
  if (sha256() !== newest.sha256) throw new UnusableSnapshot('the file of its snapshot is damaged');
  return { seq: newest.seq, digest: newest.digest };
}

/** Keeps an index file as the newest snapshot: the file first, then the manifest that names it, then the previous one is removed. */
export async function saveSnapshot(store: SnapshotStore, file: string, { seq, digest }: Seen): Promise<void> {
  const previous = await readManifest(store);
  const { stream, sha256 } = digesting();
  const { size } = await stat(file);
  const name = `index-${randomUUID()}.sqlite`;
  await store.write(name, createReadStream(file).pipe(stream), size);
  const text = Buffer.from(JSON.stringify({ format: indexFormat, seq, digest, file: name, sha256: sha256() }));
  await store.write(manifestName, single(text), text.length);
  if (previous) await store.remove(previous.file);
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
