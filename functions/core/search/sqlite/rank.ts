import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { fields, fieldWeights } from '../document.ts';
import { compare, gistOfQuestion, partsOfQuestion, readGist } from '../likeness.ts';
import { questionWords } from '../query.ts';
import { combine, type Layers, type RankingWeights } from '../ranking-weights.ts';
import type { SearchOptions } from '../search-engine.ts';
import { wordsOf } from '../text.ts';
import { wordVectors } from '../word-vectors.ts';
import { matchAny } from './match.ts';
import type { Meanings } from './meanings.ts';

/** A condition on an entry: SQL that selects ids, and its one value. */
export interface Filter {
  ids: string;
  value: string;
}

/** An entry of the index, and how well it answers. */
export interface Entry {
  id: number;
  score: number;
}

export interface Ranking {
  /** those of the page that was asked for */
  entries: Entry[];
  total: number;
}

interface Candidate extends Entry {
  uid: string;
}

/** An entry among the best, and what each layer says of it. */
export interface Ranked extends Candidate {
  layers: Layers;
}

/** How many of the best entries by their words are ranked by all layers. */
const maxByWords = 200;

/**
 * How many entries a question may find by its meaning alone, and how near they must be. Fewer words are search terms, which are meant as
 * they are.
 */
const byMeaning = { max: 20, minCosine: 0.25, minWords: 4 };

/** A longer question is answered by the rarest of its words: the others would say little and cost the most. */
const maxWordCount = 32;

const score = `-bm25(ranked, ${fields.map((field) => fieldWeights[field]).join(', ')})`;

/** The SQL that ranks; `conditions` are those of a {@link Selection}. */
const sql = {
  countWord: 'SELECT count(*) AS total FROM ranked WHERE ranked MATCH ?',
  uid: 'SELECT uid FROM intent WHERE id = ?',
  candidates: `SELECT intent.id, uid, gist FROM json_each(?) AS wanted CROSS JOIN intent ON intent.id = wanted.value
    CROSS JOIN gist ON gist.id = intent.id`,
  holds: 'SELECT 1 FROM ranked WHERE ranked MATCH ? AND rowid = ?',
  count: (conditions: string) => `SELECT count(*) AS total FROM ranked WHERE ${conditions}`,
  byScore: (conditions: string) => `SELECT rowid AS id, ${score} AS score FROM ranked WHERE ${conditions} ORDER BY score DESC LIMIT ?`,
  byScoreAndUid: (conditions: string) =>
    `SELECT intent.id, uid, ${score} AS score FROM ranked CROSS JOIN intent ON intent.id = ranked.rowid
     WHERE ${conditions} ORDER BY score DESC, uid LIMIT ? OFFSET ?`,
  passing: (filters: Filter[]) => `SELECT id FROM intent WHERE ${filters.map(({ ids }) => `id IN (${ids})`).join(' AND ')}`,
};

/** Which entries are ranked, as conditions of SQL and the values of their placeholders. */
interface Selection {
  conditions: string;
  values: string[];
}

/**
 * Selects the entries that match an FTS5 expression and pass all filters. The unary plus keeps SQLite from looking every filtered id up
 * in the full-text table one by one; deprecated intents have negative ids.
 */
const selectEntries = (expression: string, filters: Filter[], withDeprecated: boolean): Selection => ({
  conditions: [
    'ranked MATCH ?',
    ...(withDeprecated ? [] : ['ranked.rowid > 0']),
    ...filters.map(({ ids }) => `+ranked.rowid IN (${ids})`),
  ].join(' AND '),
  values: [expression, ...filters.map(({ value }) => value)],
});

const without = ({ conditions, values }: Selection, ids: number[]): Selection => ({
  conditions: `${conditions} AND +ranked.rowid NOT IN (SELECT value FROM json_each(?))`,
  values: [...values, JSON.stringify(ids)],
});

const countEntries = (database: DatabaseSync, { conditions, values }: Selection): number =>
  Number(database.prepare(sql.count(conditions)).get(...values)?.total);

const compareCandidates = (a: Candidate, b: Candidate): number => b.score - a.score || (a.uid < b.uid ? -1 : 1);

/** Entries in their order: by score, equal scores by uid. */
const readInOrder = (database: DatabaseSync, { conditions, values }: Selection, limit: number, offset: number): Entry[] =>
  database
    .prepare(sql.byScoreAndUid(conditions))
    .all(...values, limit, offset)
    .map(({ id, score }) => ({ id: Number(id), score: Number(score) }));

/**
 * The first entries in that order. Uids are looked up only for the entries that share the score which divides the first from the rest; if
 * these are very many, SQLite sorts everything by both.
 */
function readBest(database: DatabaseSync, selection: Selection, limit: number): Entry[] {
  const rows = database
    .prepare(sql.byScore(selection.conditions))
    .all(...selection.values, limit * 2)
    .map(({ id, score }): Entry => ({ id: Number(id), score: Number(score) }));
  const least = rows[limit - 1]?.score;
  if (rows[limit]?.score !== least || least === undefined) return rows.slice(0, limit);
  if (rows.length === limit * 2 && rows.at(-1)?.score === least) return readInOrder(database, selection, limit, 0);
  const above = rows.filter(({ score }) => score > least);
  const readUid = database.prepare(sql.uid);
  const equal = rows
    .filter(({ score }) => score === least)
    .map((entry) => ({ ...entry, uid: String(readUid.get(entry.id)?.uid) }))
    .sort(compareCandidates);
  return [...above, ...equal].slice(0, limit);
}

function rarestWords(database: DatabaseSync, words: string[]): string[] {
  if (words.length <= maxWordCount) return words;
  const countWord = database.prepare(sql.countWord);
  return words
    .map((word) => ({ word, count: Number(countWord.get(matchAny([word]))?.total) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => a.count - b.count)
    .slice(0, maxWordCount)
    .map(({ word }) => word);
}

/** The directions of a question: as a whole, and of each of its sentences. */
function directionsOf(question: string): { whole: Float32Array; parts: Float32Array[] } | undefined {
  const { vectorOf } = wordVectors();
  const [whole, ...parts] = partsOfQuestion(question).map(vectorOf);
  return whole && { whole, parts: parts.filter((part) => part !== undefined) };
}

export interface RankingOptions extends SearchOptions {
  /** default: those that the project ships */
  weights?: RankingWeights;
}

/** Ranks a question: the entries that hold any of its words, and those that are near it in meaning. */
export function prepareRanking(database: DatabaseSync, meanings: Meanings) {
  const readCandidates = database.prepare(sql.candidates);
  const holds = database.prepare(sql.holds);

  /** The nearest entries that pass all filters. */
  function findNear(direction: Float32Array, filters: Filter[], withDeprecated: boolean): number[] {
    const passing =
      filters.length === 0
        ? undefined
        : new Set(
            database
              .prepare(sql.passing(filters))
              .all(...filters.map(({ value }) => value))
              .map(({ id }) => Number(id)),
          );
    const isWanted = (id: number) => (withDeprecated || id > 0) && (passing?.has(id) ?? true);
    return meanings
      .nearest(direction, byMeaning.max, isWanted)
      .filter(({ cosine }) => cosine >= byMeaning.minCosine)
      .map(({ id }) => id);
  }

  /** The best entries, and what each layer says of them. */
  function rankBest(question: string, filters: Filter[], selection: Selection, withDeprecated: boolean) {
    const best = readBest(database, selection, maxByWords);
    const greatest = best[0]?.score ?? 1;
    const directions = directionsOf(question);
    const known = new Set(best.map(({ id }) => id));
    const near =
      directions && wordsOf(question).length >= byMeaning.minWords
        ? findNear(directions.whole, filters, withDeprecated).filter((id) => !known.has(id))
        : [];
    const asked = gistOfQuestion(question);

    const meaningOf = (id: number): number => {
      if (!directions) return 0;
      const whole = meanings.cosine(id, directions.whole);
      if (directions.parts.length === 0) return whole;
      return (whole + Math.max(...directions.parts.map((part) => meanings.cosine(id, part)))) / 2;
    };
    const scores = new Map([...best.map(({ id, score }) => [id, score] as const), ...near.map((id) => [id, 0] as const)]);
    const rows = readCandidates.all(JSON.stringify([...scores.keys()])) as { id: number; uid: string; gist: string }[];
    const ranked = rows.map(({ id, uid, gist }): Ranked => {
      const layers = { words: (scores.get(id) ?? 0) / greatest, meaning: meaningOf(id), ...compare(asked, readGist(gist)) };
      return { id, uid, score: 0, layers };
    });
    return { ranked, near, greatest };
  }

  return {
    /** All that the layers say of the best entries: what weights are chosen by. */
    describeBest(question: string): Ranked[] {
      const words = rarestWords(database, questionWords(question));
      if (words.length === 0) return [];
      return rankBest(question, [], selectEntries(matchAny(words), [], false), false).ranked;
    },

    rank(
      question: string,
      filters: Filter[],
      { uid, page, page_size }: SearchQuery,
      { weights, isForbidden }: RankingOptions = {},
    ): Ranking {
      const words = rarestWords(database, questionWords(question));
      if (words.length === 0) return { entries: [], total: 0 };
      const withDeprecated = uid !== undefined;
      const selection = selectEntries(matchAny(words), filters, withDeprecated);
      const matching = countEntries(database, selection);
      const { ranked, near, greatest } = rankBest(question, filters, selection, withDeprecated);
      const total = matching + near.filter((id) => holds.get(matchAny(words), BigInt(id)) === undefined).length;

      const sorted = ranked
        .map((candidate) => ({
          ...candidate,
          score: combine(candidate.layers, weights),
          isForbidden: isForbidden?.(candidate.uid) ?? false,
        }))
        .sort((a, b) => Number(a.isForbidden) - Number(b.isForbidden) || compareCandidates(a, b));
      const first = (page - 1) * page_size;
      const entries = sorted.slice(first, first + page_size);
      const missing = page_size - entries.length;
      const beyond = Math.max(first, sorted.length) - near.length;
      const rest = missing > 0 && first + entries.length < total ? readInOrder(database, without(selection, near), missing, beyond) : [];
      return { entries: [...entries, ...rest.map(({ id, score }) => ({ id, score: score / greatest }))], total };
    },
  };
}
