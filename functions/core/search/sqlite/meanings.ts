import { columns } from '../word-vectors.ts';
import { findGreatest } from './greatest.ts';
import type { Parts } from './parts.ts';

/** The first columns tell most: by these alone, a first look at all rows chooses those that are looked at in full. */
const headColumns = 16;
const tailColumns = columns - headColumns;

/** How many times as many rows are looked at in full as are asked for. */
const lookedAt = 12;

const initialRows = 256;

/** Less than any cosine. */
const unwanted = -2;

/** A vector as it is kept: signed bytes, and what they have to be multiplied by. */
export interface Meaning {
  bytes: Int8Array;
  scale: number;
}

export function toMeaning(vector: Float32Array): Meaning {
  let greatest = 0;
  for (const number of vector) greatest = Math.max(greatest, Math.abs(number));
  const scale = greatest / 127 || 1;
  return { bytes: Int8Array.from(vector, (number) => Math.round(number / scale)), scale };
}

/** The vectors of the entries of an index. They are kept in memory, and in the file only by {@link Meanings.save}. */
export interface Meanings {
  set(id: number, meaning: Meaning): void;
  remove(id: number): void;
  /** The cosine of a vector of length 1 and an entry's; 0 if the entry has none. */
  cosine(id: number, vector: Float32Array): number;
  /** The entries of which the cosine is greatest, greatest first, of those that are wanted. */
  nearest(vector: Float32Array, count: number, isWanted: (id: number) => boolean): { id: number; cosine: number }[];
  save(): void;
}

/** Opens the vectors that a file keeps; none if it keeps none. */
export function openMeanings(parts: Parts): Meanings {
  let ids = new Int32Array(parts.read('ids'));
  let scales = new Float32Array(parts.read('scales'));
  let heads = new Int8Array(parts.read('heads'));
  let tails = new Int8Array(parts.read('tails'));
  let count = ids.length;
  /** what a first look says of each row: made once, as one search follows the other */
  let likely = new Float32Array(0);
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
    heads = widen(new Int8Array(size * headColumns), heads);
    tails = widen(new Int8Array(size * tailColumns), tails);
  }

  function headProduct(row: number, vector: Float32Array): number {
    let sum = 0;
    for (let at = 0, from = row * headColumns; at < headColumns; at++) sum += (heads[from + at] as number) * (vector[at] as number);
    return sum * (scales[row] as number);
  }

  function tailProduct(row: number, vector: Float32Array): number {
    let sum = 0;
    for (let at = 0, from = row * tailColumns; at < tailColumns; at++)
      sum += (tails[from + at] as number) * (vector[headColumns + at] as number);
    return sum * (scales[row] as number);
  }

  return {
    set(id, { bytes, scale }) {
      const known = rowOf.get(id);
      if (known === undefined && count === ids.length) grow();
      const row = known ?? count++;
      rowOf.set(id, row);
      ids[row] = id;
      scales[row] = scale;
      heads.set(bytes.subarray(0, headColumns), row * headColumns);
      tails.set(bytes.subarray(headColumns), row * tailColumns);
    },
    /** The last row takes the place of the one that goes. */
    remove(id) {
      const row = rowOf.get(id);
      if (row === undefined) return;
      const last = --count;
      const moved = ids[last] as number;
      ids[row] = moved;
      scales[row] = scales[last] as number;
      heads.copyWithin(row * headColumns, last * headColumns, (last + 1) * headColumns);
      tails.copyWithin(row * tailColumns, last * tailColumns, (last + 1) * tailColumns);
      rowOf.set(moved, row);
      rowOf.delete(id);
    },
    cosine(id, vector) {
      const row = rowOf.get(id);
      return row === undefined ? 0 : headProduct(row, vector) + tailProduct(row, vector);
    },
    nearest(vector, wanted, isWanted) {
      if (likely.length < count) likely = new Float32Array(ids.length);
      multiplyHeads(heads, scales, toMeaning(vector.subarray(0, headColumns)).bytes, likely.subarray(0, count));
      for (let row = 0; row < count; row++) if (!isWanted(ids[row] as number)) likely[row] = unwanted;
      return findGreatest(likely.subarray(0, count), wanted * lookedAt)
        .filter((row) => likely[row] !== unwanted)
        .map((row) => ({ id: ids[row] as number, cosine: headProduct(row, vector) + tailProduct(row, vector) }))
        .sort((a, b) => b.cosine - a.cosine || a.id - b.id)
        .slice(0, wanted);
    },
    save() {
      parts.write('ids', ids.subarray(0, count));
      parts.write('scales', scales.subarray(0, count));
      parts.write('heads', heads.subarray(0, count * headColumns));
      parts.write('tails', tails.subarray(0, count * tailColumns));
    },
  };
}

/** What the heads alone say of each row: a function by itself, so that it is compiled once. */
function multiplyHeads(heads: Int8Array, scales: Float32Array, head: Int8Array, products: Float32Array): void {
  for (let row = 0, from = 0; row < products.length; row++, from += headColumns) {
    let sum = 0;
    for (let at = 0; at < headColumns; at++) sum = (sum + Math.imul(heads[from + at] as number, head[at] as number)) | 0;
    products[row] = sum * (scales[row] as number);
  }
}
