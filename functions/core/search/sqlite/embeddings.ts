import { dimensions } from '../word-vectors.ts';
import type { Blobs } from './database.ts';
import { selectTopK } from './top-k.ts';

/** Number of leading dimensions used by a first pass over all rows, which chooses candidates for the second pass. */
const headDimensions = 16;

/** Number of candidates for the second pass per requested row. */
const candidatesPerRow = 12;

const initialRows = 256;

/** Less than any cosine. */
const excluded = -2;

/** An embedding as signed bytes, and the factor that scales them back. */
export interface Quantized {
  bytes: Int8Array;
  scale: number;
}

export function quantize(vector: Float32Array): Quantized {
  let greatest = 0;
  for (const number of vector) greatest = Math.max(greatest, Math.abs(number));
  const scale = greatest / 127 || 1;
  return { bytes: Int8Array.from(vector, (number) => Math.round(number / scale)), scale };
}

/** The embeddings of an index, in memory. Only `save` writes them to the file. */
export function openEmbeddings(blobs: Blobs) {
  let ids = new Int32Array(blobs.read('ids'));
  let scales = new Float32Array(blobs.read('scales'));
  let rows = new Int8Array(blobs.read('rows'));
  let count = ids.length;
  /** reused by every search */
  let estimates = new Float32Array(0);
  const rowOf = new Map<number, number>();
  for (let row = 0; row < count; row++) rowOf.set(ids[row] as number, row);

  function grow(): void {
    const size = Math.max(initialRows, ids.length * 2);
    const widen = <T extends Int32Array | Float32Array | Int8Array>(wide: T, from: T): T => {
      wide.set(from);
      return wide;
    };
    ids = widen(new Int32Array(size), ids);
    scales = widen(new Float32Array(size), scales);
    rows = widen(new Int8Array(size * dimensions), rows);
  }

  function cosineOf(row: number, vector: Float32Array): number {
    let sum = 0;
    for (let at = 0, from = row * dimensions; at < dimensions; at++) sum += (rows[from + at] as number) * (vector[at] as number);
    return sum * (scales[row] as number);
  }

  return {
    set(id: number, { bytes, scale }: Quantized): void {
      const known = rowOf.get(id);
      if (known === undefined && count === ids.length) grow();
      const row = known ?? count++;
      rowOf.set(id, row);
      ids[row] = id;
      scales[row] = scale;
      rows.set(bytes, row * dimensions);
    },
    /** Removes an embedding, and moves the last row into the gap. */
    remove(id: number): void {
      const row = rowOf.get(id);
      if (row === undefined) return;
      const last = --count;
      const moved = ids[last] as number;
      ids[row] = moved;
      scales[row] = scales[last] as number;
      rows.copyWithin(row * dimensions, last * dimensions, (last + 1) * dimensions);
      rowOf.set(moved, row);
      rowOf.delete(id);
    },
    /** The cosine similarity of an entry's embedding and a vector of length 1; 0 if the entry has no embedding. */
    cosine(id: number, vector: Float32Array): number {
      const row = rowOf.get(id);
      return row === undefined ? 0 : cosineOf(row, vector);
    },
    /** The `wanted` entries with the greatest cosine similarity, greatest first, of those that `isWanted` accepts. */
    nearest(vector: Float32Array, wanted: number, isWanted: (id: number) => boolean) {
      if (estimates.length < count) estimates = new Float32Array(ids.length);
      const estimated = estimates.subarray(0, count);
      estimateCosines(rows, scales, quantize(vector.subarray(0, headDimensions)).bytes, estimated);
      for (let row = 0; row < count; row++) if (!isWanted(ids[row] as number)) estimated[row] = excluded;
      return selectTopK(estimated, wanted * candidatesPerRow)
        .filter((row) => estimated[row] !== excluded)
        .map((row) => ({ id: ids[row] as number, cosine: cosineOf(row, vector) }))
        .sort((a, b) => b.cosine - a.cosine || a.id - b.id)
        .slice(0, wanted);
    },
    save(): void {
      blobs.write('ids', ids.subarray(0, count));
      blobs.write('scales', scales.subarray(0, count));
      blobs.write('rows', rows.subarray(0, count * dimensions));
    },
  };
}

export type Embeddings = ReturnType<typeof openEmbeddings>;

/** Dot products over the leading dimensions only. A separate function, so that V8 optimises it. */
function estimateCosines(rows: Int8Array, scales: Float32Array, head: Int8Array, products: Float32Array): void {
  for (let row = 0, from = 0; row < products.length; row++, from += dimensions) {
    let sum = 0;
    for (let at = 0; at < headDimensions; at++) sum = (sum + Math.imul(rows[from + at] as number, head[at] as number)) | 0;
    products[row] = sum * (scales[row] as number);
  }
}
