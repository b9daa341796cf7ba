import { stemmer as stem } from 'stemmer';
import { fields, fieldWeights, type SearchDocument } from '../document.ts';
import type { Blobs } from './database.ts';

/** BM25 parameters: term-frequency saturation and length normalisation. */
const k1 = 1.2;
const b = 0.5;

/** BM25's average document length, in words. A constant, so that an entry's weights do not depend on other entries. */
const averageLength = 120;

/** Scale of term weights, which are below 1 and stored as 16-bit integers. */
const weightScale = 65_535;

/** A pseudo-term that every entry contains, used to count the entries. */
const everyEntry = '';

/** Number of changes before the lists are merged, or an eighth of all entries if that is more. */
const minChanges = 1_000;

/** Entries and their scores, unordered; valid until the next call of `score`. */
export interface Scores {
  ids: Int32Array;
  /** above 0 */
  scores: Float32Array;
  has(id: number): boolean;
}

/** The entries that contain a term, and its weight in each. */
interface PostingList {
  ids: number[];
  weights: number[];
}

/** The terms of a document and their weights: BM25 without the IDF, from 1 to {@link weightScale}. */
function weigh(document: SearchDocument): Map<string, number> {
  const counts = new Map<string, number>([[everyEntry, 1]]);
  let length = 0;
  for (const field of fields) {
    for (const word of document[field].split(' ')) {
      if (word === '') continue;
      length++;
      const stemmed = stem(word);
      counts.set(stemmed, (counts.get(stemmed) ?? 0) + fieldWeights[field]);
    }
  }
  const norm = k1 * (1 - b + b * (length / averageLength));
  for (const [word, count] of counts) counts.set(word, Math.max(1, Math.round((weightScale * count) / (count + norm))));
  return counts;
}

/** Inverse document frequency; almost zero for terms that at least half of all entries contain. */
const idf = (entries: number, frequency: number): number => Math.max(1e-6, Math.log((entries - frequency + 0.5) / (frequency + 0.5)));

/**
 * An inverted index: the entries that contain each stemmed word, and the word's weight in each. Kept in memory; only `save` writes it to the
 * file. Ids are not reused: an entry is added and removed, but never changed.
 */
export function openPostings(blobs: Blobs) {
  /** end of each term's entries in `ids` and `weights`; they start at the end of the previous term */
  let ends = new Uint32Array(blobs.read('ends'));
  let ids = new Int32Array(blobs.read('ids'));
  let weights = new Uint16Array(blobs.read('weights'));
  let termNumbers = numberWords(ends.length > 0 ? new TextDecoder().decode(blobs.read('words')).split('\n') : []);

  const added = new Map<string, PostingList>();
  /** removed entries that are still listed, and their number per term */
  const gone = new Set<number>();
  const goneFrom = new Map<string, number>();
  let changes = 0;

  /** scores by id, and the entries that have a score; reused by every search */
  let sums = new Float32Array(0);
  let listedIds = new Int32Array(0);
  let listedScores = new Float32Array(0);
  let [leastId, greatestId] = [0, 0];

  function rangeOf(word: string): [start: number, end: number] {
    const number = termNumbers.get(word);
    return number === undefined ? [0, 0] : [ends[number - 1] ?? 0, ends[number] as number];
  }

  for (const id of ids.subarray(...rangeOf(everyEntry))) noteId(id);

  function noteId(id: number): void {
    leastId = Math.min(leastId, id);
    greatestId = Math.max(greatestId, id);
  }

  function count(word: string): number {
    const [start, end] = rangeOf(word);
    return end - start + (added.get(word)?.ids.length ?? 0) - (goneFrom.get(word) ?? 0);
  }

  function merge(): void {
    const words = [...new Set([...termNumbers.keys(), ...added.keys()])].filter((word) => count(word) > 0);
    const nextEnds = new Uint32Array(words.length);
    for (const [number, word] of words.entries()) nextEnds[number] = (nextEnds[number - 1] ?? 0) + count(word);
    const nextIds = new Int32Array(nextEnds.at(-1) ?? 0);
    const nextWeights = new Uint16Array(nextIds.length);
    let at = 0;
    const append = (id: number, weight: number) => {
      if (gone.has(id)) return;
      nextIds[at] = id;
      nextWeights[at++] = weight;
    };
    for (const word of words) {
      const [start, end] = rangeOf(word);
      for (let from = start; from < end; from++) append(ids[from] as number, weights[from] as number);
      const more = added.get(word);
      for (const [index, id] of more?.ids.entries() ?? []) append(id, more?.weights[index] as number);
    }
    termNumbers = numberWords(words);
    ends = nextEnds;
    ids = nextIds;
    weights = nextWeights;
    added.clear();
    gone.clear();
    goneFrom.clear();
    changes = 0;
  }

  function countChange(): void {
    if (++changes > Math.max(minChanges, count(everyEntry) / 8)) merge();
  }

  return {
    add(id: number, document: SearchDocument): void {
      for (const [word, weight] of weigh(document)) {
        const list = added.get(word) ?? { ids: [], weights: [] };
        added.set(word, list);
        list.ids.push(id);
        list.weights.push(weight);
      }
      noteId(id);
      countChange();
    },
    /** @param document - the document that was added with this id */
    remove(id: number, document: SearchDocument): void {
      gone.add(id);
      for (const word of weigh(document).keys()) goneFrom.set(word, (goneFrom.get(word) ?? 0) + 1);
      countChange();
    },
    /** BM25 scores of the wanted entries that contain any of the words. The IDF counts all entries. */
    score(words: readonly string[], isWanted: (id: number) => boolean): Scores {
      const size = greatestId - leastId + 1;
      if (sums.length < size) {
        sums = new Float32Array(2 * size);
        listedIds = new Int32Array(2 * size);
        listedScores = new Float32Array(2 * size);
      } else sums.fill(0, 0, size);
      const entries = count(everyEntry);
      for (const word of new Set(words.map(stem))) {
        const factor = idf(entries, count(word)) / weightScale;
        const [start, end] = rangeOf(word);
        addUp(sums, ids.subarray(start, end), weights.subarray(start, end), factor, leastId);
        const more = added.get(word);
        if (more) addUp(sums, more.ids, more.weights, factor, leastId);
      }
      for (const id of gone) sums[id - leastId] = 0;
      let listed = 0;
      for (let offset = 0; offset < size; offset++) {
        const score = sums[offset] as number;
        if (score === 0 || !isWanted(offset + leastId)) continue;
        listedIds[listed] = offset + leastId;
        listedScores[listed++] = score;
      }
      return {
        ids: listedIds.subarray(0, listed),
        scores: listedScores.subarray(0, listed),
        has: (id) => (sums[id - leastId] ?? 0) > 0,
      };
    },
    isKnown: (word: string): boolean => count(stem(word)) > 0,
    contains(word: string, id: number): boolean {
      const stemmed = stem(word);
      const [start, end] = rangeOf(stemmed);
      return !gone.has(id) && (ids.subarray(start, end).includes(id) || (added.get(stemmed)?.ids.includes(id) ?? false));
    },
    save(): void {
      merge();
      blobs.write('words', new TextEncoder().encode([...termNumbers.keys()].join('\n')));
      blobs.write('ends', ends);
      blobs.write('ids', ids);
      blobs.write('weights', weights);
    },
  };
}

export type Postings = ReturnType<typeof openPostings>;

const numberWords = (words: readonly string[]) => new Map(words.map((word, number) => [word, number]));

function addUp(sums: Float32Array, ids: ArrayLike<number>, weights: ArrayLike<number>, factor: number, leastId: number): void {
  for (let at = 0; at < ids.length; at++) {
    const offset = (ids[at] as number) - leastId;
    sums[offset] = (sums[offset] as number) + (weights[at] as number) * factor;
  }
}
