import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { fields, fieldWeights } from '../document.ts';
import { matchAny } from './match.ts';
import { openThesaurus } from './thesaurus.ts';

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
  /** words that an entry may have been found by though it holds none of the question's own */
  related: string[];
}

interface Candidate extends Entry {
  uid: string;
}

/** How many of the best entries related words may move. */
const reordered = 200;

/** What a related word weighs beside a word of the question. */
const relatedWeight = 0.2;

/** A question of at least so many words is widened by related words if it finds less than one page. Fewer words are meant as they are. */
const widened = { words: 4, below: 10 };

/** A longer question is answered by the rarest of its words: the others would say little and cost the most. */
const maxWordCount = 32;

const score = `-bm25(ranked, ${fields.map((field) => fieldWeights[field]).join(', ')})`;

/** The SQL that ranks; `conditions` are those of a {@link Selection}. */
const sql = {
  countWord: 'SELECT count(*) AS total FROM ranked WHERE ranked MATCH ?',
  uid: 'SELECT uid FROM intent WHERE id = ?',
  scoresOf: `SELECT rowid AS id, ${score} AS score FROM ranked WHERE ranked MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`,
  count: (conditions: string) => `SELECT count(*) AS total FROM ranked WHERE ${conditions}`,
  byScore: (conditions: string) => `SELECT rowid AS id, ${score} AS score FROM ranked WHERE ${conditions} ORDER BY score DESC LIMIT ?`,
  byScoreAndUid: (conditions: string) =>
    `SELECT intent.id, uid, ${score} AS score FROM ranked CROSS JOIN intent ON intent.id = ranked.rowid
     WHERE ${conditions} ORDER BY score DESC, uid LIMIT ? OFFSET ?`,
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

const countEntries = (database: DatabaseSync, { conditions, values }: Selection): number =>
  Number(database.prepare(sql.count(conditions)).get(...values)?.total);

const compareCandidates = (a: Candidate, b: Candidate): number => b.score - a.score || (a.uid < b.uid ? -1 : 1);

/** Entries in their order: by score, equal scores by uid. */
const readInOrder = (database: DatabaseSync, { conditions, values }: Selection, limit: number, offset: number): Candidate[] =>
  database
    .prepare(sql.byScoreAndUid(conditions))
    .all(...values, limit, offset)
    .map(({ id, uid, score }) => ({ id: Number(id), uid: String(uid), score: Number(score) }));

/** The first entries in that order. Uids are looked up for these alone, unless several entries share the score that divides them from the rest. */
function readBest(database: DatabaseSync, selection: Selection, limit: number): Candidate[] {
  const rows = database.prepare(sql.byScore(selection.conditions)).all(...selection.values, limit + 1);
  const [last, next] = rows.slice(limit - 1);
  if (next && next.score === last?.score) return readInOrder(database, selection, limit, 0);
  const readUid = database.prepare(sql.uid);
  return rows
    .slice(0, limit)
    .map(({ id, score }) => ({ id: Number(id), uid: String(readUid.get(id as number)?.uid), score: Number(score) }))
    .sort(compareCandidates);
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

/** Adds to the best what they hold of related words. None falls below those that are not among the best. */
function reorder(database: DatabaseSync, best: Candidate[], related: string[]): Candidate[] {
  if (related.length === 0 || best.length < 2) return best;
  const ids = JSON.stringify(best.map(({ id }) => id));
  const rows = database.prepare(sql.scoresOf).all(matchAny(related), ids);
  const gains = new Map(rows.map((row) => [Number(row.id), Number(row.score)]));
  return best
    .map((candidate) => ({ ...candidate, score: candidate.score + relatedWeight * (gains.get(candidate.id) ?? 0) }))
    .sort(compareCandidates);
}

/** Prepares an index to rank entries that hold any word of a question: by BM25, equal scores by uid. */
export function prepareRanking(database: DatabaseSync): (question: string[], filters: Filter[], query: SearchQuery) => Ranking {
  const relatedTo = openThesaurus(database);

  return (question, filters, { uid, page, page_size }) => {
    const words = rarestWords(database, question);
    if (words.length === 0) return { entries: [], total: 0, related: [] };
    const withDeprecated = uid !== undefined;
    const related = relatedTo(matchAny(words));
    const direct = selectEntries(matchAny(words), filters, withDeprecated);
    const total = countEntries(database, direct);
    const first = (page - 1) * page_size;

    if (question.length >= widened.words && total < widened.below && related.length > 0) {
      const indirect = selectEntries(`(${matchAny(related)}) NOT (${matchAny(words)})`, filters, withDeprecated);
      const all = [
        ...reorder(database, readBest(database, direct, widened.below), related),
        ...readBest(database, indirect, reordered - total).map((candidate) => ({ ...candidate, score: relatedWeight * candidate.score })),
      ].sort(compareCandidates);
      return { entries: all.slice(first, first + page_size), total: all.length, related };
    }

    const isAmongBest = first < reordered;
    const best = isAmongBest ? reorder(database, readBest(database, direct, reordered), related).slice(first, first + page_size) : [];
    const missing = page_size - best.length;
    const beyond = Math.max(first, reordered);
    const rest = missing > 0 && beyond < total ? readInOrder(database, direct, missing, beyond) : [];
    return { entries: [...best, ...rest], total, related: [] };
  };
}
