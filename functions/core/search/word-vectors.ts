import { readFileSync } from 'node:fs';
import { stopWords } from './stop-words.ts';
import { tokenize } from './text.ts';

/** How many numbers a vector has. The first ones tell most. */
export const columns = 128;

/** Longer words have no pieces. */
const maxWordLength = 100;

/** The file lies beside this one, and beside the bundles of the functions that search. `bin/train-vectors/README.md` says how it is made. */
const file = new URL('word-vectors.bin', import.meta.url);

/**
 * Vectors of word pieces: a text's meaning is the sum of those of its words. English alone: what other languages write has no vectors
 * or says little.
 */
export interface WordVectors {
  /**
   * The direction of a text, as a vector of length 1: texts of like meaning point in like directions. The table weighs rare words more.
   * @returns undefined if no word of the text has a vector
   */
  vectorOf(text: string): Float32Array | undefined;
}

/**
 * The file: three numbers (rows, columns, bytes of the vocabulary; uint32, little-endian), the vocabulary (a piece a line, what continues
 * a word begins with ##), the scale of each row (float32), the rows (signed bytes).
 * @throws Error if the file does not have that form
 */
export function readWordVectors(bytes: Uint8Array = readFileSync(file)): WordVectors {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [rowCount, columnCount, vocabularyBytes] = [view.getUint32(0, true), view.getUint32(4, true), view.getUint32(8, true)];
  const scalesAt = 12 + vocabularyBytes;
  const rowsAt = scalesAt + rowCount * 4;
  if (columnCount !== columns || bytes.length !== rowsAt + rowCount * columns) throw new Error('word-vectors.bin is damaged: make it anew');
  const vocabulary = Buffer.from(bytes.buffer, bytes.byteOffset + 12, vocabularyBytes)
    .toString('utf8')
    .split('\n');
  const idOf = new Map(vocabulary.map((piece, id) => [piece, id]));
  const rows = new Int8Array(bytes.buffer, bytes.byteOffset + rowsAt, rowCount * columns);

  /** The longest pieces from left to right; none if some part of the word has none. */
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
    vectorOf(text) {
      const sum = new Float32Array(columns);
      let isFound = false;
      for (const word of tellingParts(text)) {
        if (word.length > maxWordLength) continue;
        for (const id of piecesOf(word)) {
          isFound = true;
          const scale = view.getFloat32(scalesAt + id * 4, true);
          for (let at = 0, from = id * columns; at < columns; at++) sum[at] = (sum[at] ?? 0) + (rows[from + at] ?? 0) * scale;
        }
      }
      return isFound ? toUnitLength(sum) : undefined;
    },
  };
}

/** The words of a text that say something, as often as it says them: names in camelCase as their parts alone. */
function tellingParts(text: string): string[] {
  const words = tokenize(text).flatMap(({ parts }) => parts);
  const telling = words.filter((word) => !stopWords.has(word));
  return telling.length > 0 ? telling : words;
}

function toUnitLength(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector) || 1;
  return vector.map((number) => number / length);
}

let read: WordVectors | undefined;

/** The project's own vectors, read once in a process. */
export const wordVectors = (): WordVectors => {
  read ??= readWordVectors();
  return read;
};
