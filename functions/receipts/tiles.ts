import { createHash } from 'node:crypto';
import { batchesOf } from '../core/runtime/batches.ts';

/** Number of entries in a full bundle, and of hashes in a full tile (C2SP tlog-tiles). */
const width = 256;

const sha256 = (...parts: (Uint8Array | string)[]): Uint8Array =>
  parts.reduce<ReturnType<typeof createHash>>((hash, part) => hash.update(part), createHash('sha256')).digest();

/** Merkle tree hashes of RFC 6962 section 2.1. */
export const leafHash = (entry: string): Uint8Array => sha256(Uint8Array.of(0), entry);
const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(Uint8Array.of(1), left, right);

/** The root of a tree over leaf hashes, or over roots of complete subtrees of equal size, of which only the last may be smaller. */
export function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  const [first, second] = hashes;
  if (first === undefined) return sha256();
  if (second === undefined) return first;
  const left = 2 ** Math.floor(Math.log2(hashes.length - 1));
  return nodeHash(rootOf(hashes.slice(0, left)), rootOf(hashes.slice(left)));
}

/** `x001/x234/067` for 1,234,067 */
const spell = (index: number): string =>
  String(index)
    .padStart(Math.ceil(String(index).length / 3) * 3, '0')
    .replace(/...(?=.)/g, 'x$&/');

/** The path of a tile, or of a bundle of entries, that contains `count` of up to 256 elements. */
export const tilePath = (level: number | 'entries', index: number, count = width): string =>
  `tile/${level}/${spell(index)}${count < width ? `.p/${count}` : ''}`;

/** Reads an object of the log; undefined if it does not exist. */
export type ReadObject = (path: string) => Promise<Uint8Array | undefined>;

const split = (tile: Uint8Array): Uint8Array[] => Array.from({ length: tile.length / 32 }, (_, at) => tile.subarray(at * 32, at * 32 + 32));

async function require(read: ReadObject, path: string): Promise<Uint8Array> {
  const found = await read(path);
  if (!found) throw new Error(`the log lacks ${path}`);
  return found;
}

/** Number of hashes at a level of tiles in a log of `size` entries. */
const countAt = (level: number, size: number): number => Math.floor(size / width ** level);

/** The hashes of a tile in a log of `size` entries; empty if the tile does not exist. */
const readTile = async (read: ReadObject, size: number, level: number, index: number): Promise<Uint8Array[]> => {
  const count = Math.min(width, countAt(level, size) - index * width);
  return count > 0 ? split(await require(read, tilePath(level, index, count))) : [];
};

const bundle = (entries: readonly string[]): Buffer =>
  Buffer.concat(
    entries.map((entry) => {
      const bytes = Buffer.from(`\0\0${entry}`);
      bytes.writeUInt16BE(bytes.length - 2);
      return bytes;
    }),
  );

/**
 * Computes how entries extend a log of `size` entries: the new objects by path, and the new root. The same input always gives the same objects, so
 * concurrent writers cannot contradict each other.
 */
export async function extendLog(
  read: ReadObject,
  size: number,
  entries: readonly string[],
): Promise<{ objects: Map<string, Buffer>; root: Uint8Array }> {
  const objects = new Map<string, Buffer>();
  const bundled = size % width > 0 ? await require(read, tilePath('entries', Math.floor(size / width), size % width)) : Buffer.alloc(0);
  for (let from = size; from < size + entries.length; ) {
    const index = Math.floor(from / width);
    const to = Math.min(size + entries.length, (index + 1) * width);
    const added = bundle(entries.slice(from - size, to - size));
    objects.set(tilePath('entries', index, to - index * width), from === size ? Buffer.concat([bundled, added]) : added);
    from = to;
  }
  let hashes = entries.map(leafHash);
  for (let level = 0; hashes.length > 0; level++) {
    const index = Math.floor(countAt(level, size) / width);
    const all = [...(await readTile(read, size, level, index)), ...hashes];
    hashes = [];
    for (const [at, tile] of [...batchesOf(all, width)].entries()) {
      objects.set(tilePath(level, index + at, tile.length), Buffer.concat(tile));
      if (tile.length === width) hashes.push(rootOf(tile));
    }
  }
  const readNew: ReadObject = async (path) => objects.get(path) ?? read(path);
  return { objects, root: await readRoot(readNew, size + entries.length) };
}

/** The root of a log, computed from the incomplete last tile of each level: it covers the entries that no complete tile covers. */
async function readRoot(read: ReadObject, size: number): Promise<Uint8Array> {
  let rest: Uint8Array[] = [];
  for (let level = 0; countAt(level, size) > 0; level++) {
    const count = countAt(level, size);
    const hashes = count % width === 0 ? [] : await readTile(read, size, level, Math.floor(count / width));
    if (hashes.length + rest.length > 0) rest = [rootOf([...hashes, ...rest])];
  }
  return rootOf(rest);
}

/** The hash of a range of entries that is a subtree. */
type HashOf = (from: number, to: number) => Promise<Uint8Array>;

/** Opens the subtrees of a log of `size` entries; reads each tile once. */
function openSubtrees(read: ReadObject, size: number): HashOf {
  const tiles = new Map<string, Promise<Uint8Array[]>>();
  const tileAt = (level: number, at: number): Promise<Uint8Array[]> => {
    const key = `${level}/${at}`;
    const known = tiles.get(key) ?? readTile(read, size, level, at);
    tiles.set(key, known);
    return known;
  };
  const hashOf: HashOf = async (from, to) => {
    const height = Math.log2(to - from);
    if (!Number.isInteger(height)) {
      const middle = from + 2 ** Math.floor(height);
      return nodeHash(await hashOf(from, middle), await hashOf(middle, to));
    }
    const level = Math.floor(height / 8);
    const first = from / width ** level;
    const at = Math.floor(first / width);
    return rootOf((await tileAt(level, at)).slice(first % width, (first % width) + 2 ** (height % 8)));
  };
  return hashOf;
}

/** The hashes beside the way from the root to a complete subtree, nearest first. */
function hashesBeside(hashOf: HashOf, [start, end]: [number, number], size: number): Promise<Uint8Array[]> {
  const path: Promise<Uint8Array>[] = [];
  for (let [from, to] = [0, size]; to - from > end - start; ) {
    const middle = from + 2 ** Math.floor(Math.log2(to - from - 1));
    const isLeft = end <= middle;
    path.unshift(isLeft ? hashOf(middle, to) : hashOf(from, middle));
    [from, to] = isLeft ? [from, middle] : [middle, to];
  }
  return Promise.all(path);
}

/** An inclusion proof of an entry in a log of `size` entries (RFC 9162 section 2.1.3.1), nearest hash first. */
export const readInclusion = (read: ReadObject, index: number, size: number): Promise<Uint8Array[]> =>
  hashesBeside(openSubtrees(read, size), [index, index + 1], size);

/**
 * A proof that a log of `size` entries extends the log of its first `older` entries (RFC 9162 section 2.1.4.1).
 * @param older - from 1 to `size` - 1
 */
export async function readConsistency(read: ReadObject, older: number, size: number): Promise<Uint8Array[]> {
  const hashOf = openSubtrees(read, size);
  // the largest complete subtree at the end of the older log, which the proof omits if it is the whole log
  const start = older - Number(BigInt(older) & -BigInt(older));
  const beside = await hashesBeside(hashOf, [start, older], size);
  return start === 0 ? beside : [await hashOf(start, older), ...beside];
}
