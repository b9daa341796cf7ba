import type { DatabaseSync } from 'node:sqlite';
import { columns } from '../word-vectors.ts';

/** The first columns tell most: by these alone, a first look at all rows chooses those that are looked at in full. */
const headColumns = 32;
const tailColumns = columns - headColumns;

/** How many times as many rows are looked at in full as are asked for. */
const lookedAt = 10;

const initialRows = 256;

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

const schema = `
  CREATE TABLE IF NOT EXISTS meaning (part TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID
`;

/** Opens the vectors that a file keeps; none if it keeps none. */
export function openMeanings(database: DatabaseSync): Meanings {
  database.exec(schema);
  const read = database.prepare('SELECT content FROM meaning WHERE part = ?');
  const bytesOf = (part: string): ArrayBuffer => {
    const content = read.get(part)?.content;
    return content instanceof Uint8Array ? content.slice().buffer : new ArrayBuffer(0);
  };
  let ids = new Int32Array(bytesOf('ids'));
  let scales = new Float32Array(bytesOf('scales'));
  let heads = new Int8Array(bytesOf('heads'));
  let tails = new Int8Array(bytesOf('tails'));
  let count = ids.length;
  const rowOf = new Map(Array.from(ids, (id, row) => [id, row]));

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
      const best = openBest(wanted * lookedAt);
      const head = toMeaning(vector.subarray(0, headColumns)).bytes;
      const [allHeads, allScales] = [heads, scales];
      for (let row = 0, from = 0; row < count; row++, from += headColumns) {
        let sum = 0;
        for (let at = 0; at < headColumns; at++) sum += (allHeads[from + at] as number) * (head[at] as number);
        const value = sum * (allScales[row] as number);
        if (value > best.least() && isWanted(ids[row] as number)) best.add(row, value);
      }
      return best
        .list()
        .map((row) => ({ id: ids[row] as number, cosine: headProduct(row, vector) + tailProduct(row, vector) }))
        .sort((a, b) => b.cosine - a.cosine || a.id - b.id)
        .slice(0, wanted);
    },
    save() {
      const put = database.prepare('INSERT OR REPLACE INTO meaning (part, content) VALUES (?, ?)');
      const asBytes = ({ buffer, BYTES_PER_ELEMENT }: Int32Array | Float32Array | Int8Array, length: number) =>
        new Uint8Array(buffer as ArrayBuffer, 0, length * BYTES_PER_ELEMENT);
      put.run('ids', asBytes(ids, count));
      put.run('scales', asBytes(scales, count));
      put.run('heads', asBytes(heads, count * headColumns));
      put.run('tails', asBytes(tails, count * tailColumns));
    },
  };
}

/** Keeps the rows of the greatest values: a heap with the least of them on top. */
function openBest(size: number) {
  const rows = new Int32Array(size);
  const values = new Float64Array(size);
  let count = 0;

  function swap(a: number, b: number): void {
    [rows[a], rows[b]] = [rows[b] as number, rows[a] as number];
    [values[a], values[b]] = [values[b] as number, values[a] as number];
  }

  function rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if ((values[parent] as number) <= (values[at] as number)) return;
      swap(at, parent);
      at = parent;
    }
  }

  function sink(): void {
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < count && (values[child] as number) < (values[least] as number)) least = child;
      if (least === at) return;
      swap(at, least);
      at = least;
    }
  }

  return {
    /** what a value has to exceed to be kept */
    least: (): number => (count < size ? Number.NEGATIVE_INFINITY : (values[0] as number)),
    add(row: number, value: number): void {
      if (count < size) {
        rows[count] = row;
        values[count] = value;
        rise(count++);
        return;
      }
      rows[0] = row;
      values[0] = value;
      sink();
    },
    list: () => Array.from(rows.subarray(0, count)),
  };
}
