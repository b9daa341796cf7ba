import { stemmer as stem } from 'stemmer';
import { fields, fieldWeights, type SearchDocument } from '../document.ts';
import type { Parts } from './parts.ts';

/** BM25: how soon a word that is repeated stops to count, and how much long texts are held against an intent. */
const saturation = 1.2;
const lengthWeight = 0.5;

/** A text of so many words is neither long nor short. It is not the mean of the registry, so that an entry's postings do not change with others. */
const usualLength = 120;

/** What a word is worth in an entry is kept as a part of this. */
const greatestWorth = 65_535;

/** A word that every entry holds, by which they are counted. */
const everyEntry = '';

/** How many entries may have come and gone before the lists of all words are written anew; an eighth of all, if that is more. */
const minChanges = 1_000;

/**
 * Which words the entries of an index hold, and what they are worth there. All of it is kept in memory, and in the file only by
 * {@link Postings.save}. Ids are given once: an entry is added and removed, and never changes.
 */
export interface Postings {
  add(id: number, document: SearchDocument): void;
  /** @param document - as it was added */
  remove(id: number, document: SearchDocument): void;
  /** BM25 of the entries that hold any of the words, of those that are wanted; which words are rare, all entries say. */
  score(words: readonly string[], isWanted: (id: number) => boolean): Scores;
  holds(word: string, id: number): boolean;
  save(): void;
}

/** Entries and their scores, in no order. They hold until the next question. */
export interface Scores {
  ids: Int32Array;
  /** above 0 */
  scores: Float32Array;
  /** whether an entry is among them */
  has(id: number): boolean;
}

/** The entries that hold a word, one after the other, and what the word is worth in each. */
interface Holders {
  ids: number[];
  worths: number[];
}

/** The words of a document, and what each is worth there: BM25 but for how rare the word is, from 1 to {@link greatestWorth}. */
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
  const pivot = saturation * (1 - lengthWeight + lengthWeight * (length / usualLength));
  for (const [word, count] of counts) counts.set(word, Math.max(1, Math.round((greatestWorth * count) / (count + pivot))));
  return counts;
}

/** How much more a rare word says than a frequent one; a word that half of all hold says almost nothing. */
const rarity = (entries: number, holders: number): number => Math.max(1e-6, Math.log((entries - holders + 0.5) / (holders + 0.5)));

/** Opens the postings that a file keeps; none if it keeps none. */
export function openPostings(parts: Parts): Postings {
  /** where the entries of each word end in the two lists: they begin where those of the word before it end */
  let ends = new Uint32Array(parts.read('ends'));
  let ids = new Int32Array(parts.read('ids'));
  let worths = new Uint16Array(parts.read('worths'));
  let places = numberWords(ends.length > 0 ? new TextDecoder().decode(parts.read('words')).split('\n') : []);

  const added = new Map<string, Holders>();
  /** entries that are gone, and how many of these each word still counts */
  const gone = new Set<number>();
  const goneFrom = new Map<string, number>();
  let changes = 0;

  /** Of each id, what the words of a question add up to, and the list of those that hold any: made once, as one search follows the other. */
  let sums = new Float32Array(0);
  let listedIds = new Int32Array(0);
  let listedScores = new Float32Array(0);
  let [leastId, greatestId] = [0, 0];

  function rangeOf(word: string): [start: number, end: number] {
    const place = places.get(word);
    return place === undefined ? [0, 0] : [ends[place - 1] ?? 0, ends[place] as number];
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

  /** Makes one list of what was there and what has changed since. */
  function merge(): void {
    const words = [...new Set([...places.keys(), ...added.keys()])].filter((word) => count(word) > 0);
    const nextEnds = new Uint32Array(words.length);
    for (const [place, word] of words.entries()) nextEnds[place] = (nextEnds[place - 1] ?? 0) + count(word);
    const nextIds = new Int32Array(nextEnds.at(-1) ?? 0);
    const nextWorths = new Uint16Array(nextIds.length);
    let at = 0;
    const take = (id: number, worth: number) => {
      if (gone.has(id)) return;
      nextIds[at] = id;
      nextWorths[at++] = worth;
    };
    for (const word of words) {
      const [start, end] = rangeOf(word);
      for (let from = start; from < end; from++) take(ids[from] as number, worths[from] as number);
      const more = added.get(word);
      for (const [index, id] of more?.ids.entries() ?? []) take(id, more?.worths[index] as number);
    }
    places = numberWords(words);
    ends = nextEnds;
    ids = nextIds;
    worths = nextWorths;
    added.clear();
    gone.clear();
    goneFrom.clear();
    changes = 0;
  }

  function countChange(): void {
    if (++changes > Math.max(minChanges, count(everyEntry) / 8)) merge();
  }

  return {
    add(id, document) {
      for (const [word, worth] of weigh(document)) {
        const holders = added.get(word) ?? { ids: [], worths: [] };
        added.set(word, holders);
        holders.ids.push(id);
        holders.worths.push(worth);
      }
      noteId(id);
      countChange();
    },
    remove(id, document) {
      gone.add(id);
      for (const word of weigh(document).keys()) goneFrom.set(word, (goneFrom.get(word) ?? 0) + 1);
      countChange();
    },
    score(words, isWanted) {
      const size = greatestId - leastId + 1;
      if (sums.length < size) {
        sums = new Float32Array(2 * size);
        listedIds = new Int32Array(2 * size);
        listedScores = new Float32Array(2 * size);
      } else sums.fill(0, 0, size);
      const entries = count(everyEntry);
      for (const word of new Set(words.map(stem))) {
        const factor = rarity(entries, count(word)) / greatestWorth;
        const [start, end] = rangeOf(word);
        addUp(sums, ids.subarray(start, end), worths.subarray(start, end), factor, leastId);
        const more = added.get(word);
        if (more) addUp(sums, more.ids, more.worths, factor, leastId);
      }
      for (const id of gone) sums[id - leastId] = 0;
      let listed = 0;
      for (let place = 0; place < size; place++) {
        const score = sums[place] as number;
        if (score === 0 || !isWanted(place + leastId)) continue;
        listedIds[listed] = place + leastId;
        listedScores[listed++] = score;
      }
      return {
        ids: listedIds.subarray(0, listed),
        scores: listedScores.subarray(0, listed),
        has: (id) => (sums[id - leastId] ?? 0) > 0,
      };
    },
    holds(word, id) {
      const stemmed = stem(word);
      const [start, end] = rangeOf(stemmed);
      return !gone.has(id) && (ids.subarray(start, end).includes(id) || (added.get(stemmed)?.ids.includes(id) ?? false));
    },
    save() {
      merge();
      parts.write('words', new TextEncoder().encode([...places.keys()].join('\n')));
      parts.write('ends', ends);
      parts.write('ids', ids);
      parts.write('worths', worths);
    },
  };
}

const numberWords = (words: readonly string[]): Map<string, number> => {
  const places = new Map<string, number>();
  for (let place = 0; place < words.length; place++) places.set(words[place] as string, place);
  return places;
};

function addUp(sums: Float32Array, ids: ArrayLike<number>, worths: ArrayLike<number>, factor: number, leastId: number): void {
  for (let at = 0; at < ids.length; at++) {
    const place = (ids[at] as number) - leastId;
    sums[place] = (sums[place] as number) + (worths[at] as number) * factor;
  }
}
