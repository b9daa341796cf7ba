import { readFileSync } from 'node:fs';
import { withoutStopWords } from './query.ts';
import { tokenize } from './text.ts';

/** Number of dimensions; the first ones carry most of the information. */
export const dimensions = 128;

const maxWordLength = 100;

/** Located beside this file and beside the bundles of functions that search. Made by `tools/train-vectors`. */
const file = new URL('word-vectors.bin', import.meta.url);

/**
 * Reads a file of word vectors. Format: number of rows, dimensions and bytes of the vocabulary (uint32, little-endian); the vocabulary (one
 * word piece per line; ## continues a word); the scale of each row (float32); the rows (signed bytes).
 * @throws Error if the file is damaged
 */
export function readWordVectors(bytes: Uint8Array = readFileSync(file)) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [rowCount, width, vocabularyBytes] = [view.getUint32(0, true), view.getUint32(4, true), view.getUint32(8, true)];
  const scalesAt = 12 + vocabularyBytes;
  const rowsAt = scalesAt + rowCount * 4;
  if (width !== dimensions || bytes.length !== rowsAt + rowCount * dimensions)
    throw new Error('word-vectors.bin is damaged: regenerate it');
  const vocabulary = Buffer.from(bytes.buffer, bytes.byteOffset + 12, vocabularyBytes)
    .toString('utf8')
    .split('\n');
  const idOf = new Map(vocabulary.map((piece, id) => [piece, id]));
  const rows = new Int8Array(bytes.buffer, bytes.byteOffset + rowsAt, rowCount * dimensions);

  /** Splits a word greedily into the longest known pieces; empty if part of the word is unknown. */
  function piecesOf(word: string): number[] {
    const pieces: number[] = [];
    for (let start = 0; start < word.length; ) {
      let end = word.length;
      let id: number | undefined;
      while (end > start) {
        id = idOf.get((start > 0 ? '##' : '') + word.slice(start, end));
        if (id !== undefined) break;
        end--;
      }
      if (id === undefined) return [];
      pieces.push(id);
      start = end;
    }
    return pieces;
  }

  return {
    /**
     * Embeds an English text as the sum of its word vectors, scaled to length 1.
     * @returns undefined if no word of the text has a vector
     */
    embed(text: string): Float32Array | undefined {
      const sum = new Float32Array(dimensions);
      let isFound = false;
      for (const word of withoutStopWords(tokenize(text).flatMap(({ parts }) => parts))) {
        if (word.length > maxWordLength) continue;
        for (const id of piecesOf(word)) {
          isFound = true;
          const scale = view.getFloat32(scalesAt + id * 4, true);
          for (let at = 0, from = id * dimensions; at < dimensions; at++) sum[at] = (sum[at] ?? 0) + (rows[from + at] ?? 0) * scale;
        }
      }
      return isFound ? toUnitLength(sum) : undefined;
    },
  };
}

function toUnitLength(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector) || 1;
  return vector.map((number) => number / length);
}

let read: ReturnType<typeof readWordVectors> | undefined;

/** The project's own vectors, read once per process. */
export const wordVectors = () => {
  read ??= readWordVectors();
  return read;
};
