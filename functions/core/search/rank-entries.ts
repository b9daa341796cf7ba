import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../../../schemas/search.ts';
import { fields, fieldWeights } from './document.ts';
import { matchAny } from './query.ts';
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

interface Candidate extends Entry {
  uid: string;
}

/** How many of the best entries related words may move. */
const reordered = 200;

/** What a related word weighs beside a word of the question. */
const relatedWeight = 0.2;

const score = `-bm25(ranked, ${fields.map((field) => fieldWeights[field]).join(', ')})`;

const byScore = (a: Candidate, b: Candidate): number => b.score - a.score || (a.uid < b.uid ? -1 : 1);

/** How an index ranks what holds any of the words: by BM25, equal scores by uid. */
export function rankEntries(database: DatabaseSync) {
  const relatedTo = openThesaurus(database);

  /** Adds to the best what they hold of related words. None falls below those that are not among the best. */
  function reorder(best: Candidate[], words: string[]): Candidate[] {
    const others = relatedTo(matchAny(words));
    if (others.length === 0 || best.length < 2) return best;
    const rows = database
      .prepare(`SELECT rowid AS id, ${score} AS score FROM ranked WHERE ranked MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`)
      .all(matchAny(others), JSON.stringify(best.map(({ id }) => id)));
    const gains = new Map(rows.map((row) => [Number(row.id), relatedWeight * Number(row.score)]));
    return best.map((candidate) => ({ ...candidate, score: candidate.score + (gains.get(candidate.id) ?? 0) })).sort(byScore);
  }

  return (words: string[], filters: Filter[], { uid, page, page_size }: SearchQuery): { entries: Entry[]; total: number } => {
    /** The unary plus keeps SQLite from looking every filtered id up in the full-text table one by one. */
    const conditions = [
      'ranked MATCH ?',
      ...(uid === undefined ? ['ranked.rowid > 0'] : []),
      ...filters.map(({ ids }) => `+ranked.rowid IN (${ids})`),
    ].join(' AND ');
    const values = [matchAny(words), ...filters.map(({ value }) => value)];
    const counted = database.prepare(`SELECT count(*) AS total FROM ranked WHERE ${conditions}`).get(...values);
    const select = database.prepare(
      `SELECT intent.id, uid, ${score} AS score FROM ranked CROSS JOIN intent ON intent.id = ranked.rowid
       WHERE ${conditions} ORDER BY score DESC, uid LIMIT ? OFFSET ?`,
    );
    const read = (limit: number, offset: number): Candidate[] =>
      select.all(...values, limit, offset).map(({ id, uid, score }) => ({ id: Number(id), uid: String(uid), score: Number(score) }));
    const first = (page - 1) * page_size;
    const best = first < reordered ? reorder(read(reordered, 0), words).slice(first, first + page_size) : [];
    const rest = page_size - best.length;
    const entries = rest > 0 ? [...best, ...read(rest, Math.max(first, reordered))] : best;
    return { entries, total: Number(counted?.total) };
  };
}
