import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import type { RegistrySource } from '../registry-source.ts';
import { indexFormat } from './search-index.ts';

/** Where snapshots are kept: named files. */
export interface SnapshotStore {
  /** undefined if there is no file of that name */
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** replaces the file as a whole */
  write(name: string, content: AsyncIterable<Uint8Array>, bytes: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** A snapshot must be younger than the change pointers that lead from it to the present. */
const maxAgeMs = 24 * 3600 * 1000;

const manifestName = 'newest.json';

const manifest = z.object({
  format: z.int(),
  as_of_ms: z.int(),
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
  return { stream, digest: () => hash.digest('hex') };
}

/** A snapshot is replaced by a newer one after this many changes, an hour after the first change, or when it is this old. */
const staleness = { changes: 1_000, changedMs: 3_600_000, ageMs: 12 * 3_600_000 };

/**
 * Whether a new snapshot is worth its while: there is none that can be read, or the newest one has come to be old, or far behind. A new
 * instance applies what has changed since the snapshot that it opens, so what it has to catch up with stays small.
 */
export async function isSnapshotDue(
  store: Pick<SnapshotStore, 'read'>,
  source: Pick<RegistrySource, 'changesSince'>,
  nowMs = Date.now(),
): Promise<boolean> {
  const newest = await readManifest(store);
  if (newest?.format !== indexFormat) return true;
  const ageMs = nowMs - newest.as_of_ms;
  if (ageMs >= staleness.ageMs) return true;
  const enough = ageMs >= staleness.changedMs ? 1 : staleness.changes;
  let changes = 0;
  for await (const page of source.changesSince(newest.as_of_ms)) {
    changes += page.length;
    if (changes >= enough) return true;
  }
  return false;
}

/**
 * Copies the newest snapshot to a file.
 * @returns the moment that the snapshot was begun at, in milliseconds since the epoch
 * @throws UnusableSnapshot if there is none, or it is damaged, outdated or of another format
 */
export async function loadSnapshot(store: SnapshotStore, file: string, nowMs = Date.now()): Promise<number> {
  const newest = await readManifest(store);
  if (!newest) throw new UnusableSnapshot('there is no readable manifest');
  if (newest.format !== indexFormat) throw new UnusableSnapshot('it has another format');
  if (nowMs - newest.as_of_ms > maxAgeMs) throw new UnusableSnapshot('it is outdated');
  const content = await store.read(newest.file);
  if (!content) throw new UnusableSnapshot('its file is missing');
  const { stream, digest } = digesting();
  await pipeline(content, stream, createWriteStream(file));
  if (digest() !== newest.sha256) throw new UnusableSnapshot('its file is damaged');
  return newest.as_of_ms;
}

/** Keeps an index file as the newest snapshot: the file first, then the manifest that names it, then the previous one is removed. */
export async function saveSnapshot(store: SnapshotStore, file: string, asOfMs: number): Promise<void> {
  const previous = await readManifest(store);
  const { stream, digest } = digesting();
  const { size } = await stat(file);
  const name = `index-${randomUUID()}.sqlite`;
  await store.write(name, createReadStream(file).pipe(stream), size);
  const text = Buffer.from(JSON.stringify({ format: indexFormat, as_of_ms: asOfMs, file: name, sha256: digest() }));
  await store.write(manifestName, single(text), text.length);
  if (previous) await store.remove(previous.file);
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
