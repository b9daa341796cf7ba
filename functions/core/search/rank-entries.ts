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

/** A question of at least so many words is widened by related words where it finds less than one page. Fewer words are meant as they are. */
const widened = { words: 4, below: 10 };

/** A longer question is answered by the rarest of its words: the others would say little and cost the most. */
const maxWordCount = 32;

const score = `-bm25(ranked, ${fields.map((field) => fieldWeights[field]).join(', ')})`;

const byScore = (a: Candidate, b: Candidate): number => b.score - a.score || (a.uid < b.uid ? -1 : 1);

/** How an index ranks what holds any of the words: by BM25, equal scores by uid. */
export function rankEntries(database: DatabaseSync) {
  const relatedTo = openThesaurus(database);
  const countOf = database.prepare('SELECT count(*) AS total FROM ranked WHERE ranked MATCH ?');
  const readUid = database.prepare('SELECT uid FROM intent WHERE id = ?');

  function chooseWords(words: string[]): string[] {
    if (words.length <= maxWordCount) return words;
    const counted = words.map((word) => ({ word, count: Number(countOf.get(matchAny([word]))?.total) }));
    return counted
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.count - b.count)
      .slice(0, maxWordCount)
      .map(({ word }) => word);
  }

  /** Adds to the best what they hold of related words. None falls below those that are not among the best. */
  function reorder(best: Candidate[], related: string[]): Candidate[] {
    if (related.length === 0 || best.length < 2) return best;
    const rows = database
      .prepare(`SELECT rowid AS id, ${score} AS score FROM ranked WHERE ranked MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`)
      .all(matchAny(related), JSON.stringify(best.map(({ id }) => id)));
    const gains = new Map(rows.map((row) => [Number(row.id), Number(row.score)]));
    return best
      .map((candidate) => ({ ...candidate, score: candidate.score + relatedWeight * (gains.get(candidate.id) ?? 0) }))
      .sort(byScore);
  }

  /** The entries that match an FTS5 expression and pass all filters. */
  function matching(expression: string, filters: Filter[], withDeprecated: boolean) {
    /** The unary plus keeps SQLite from looking every filtered id up in the full-text table one by one. */
    const conditions = [
      'ranked MATCH ?',
      ...(withDeprecated ? [] : ['ranked.rowid > 0']),
      ...filters.map(({ ids }) => `+ranked.rowid IN (${ids})`),
    ].join(' AND ');
    const values = [expression, ...filters.map(({ value }) => value)];
    const select = (sql: string, ...more: number[]) => database.prepare(sql).all(...values, ...more);

    const inOrder = (limit: number, offset: number): Candidate[] =>
      select(
        `SELECT intent.id, uid, ${score} AS score FROM ranked CROSS JOIN intent ON intent.id = ranked.rowid
         WHERE ${conditions} ORDER BY score DESC, uid LIMIT ? OFFSET ?`,
        limit,
        offset,
      ).map(({ id, uid, score }) => ({ id: Number(id), uid: String(uid), score: Number(score) }));

    return {
      count: () => Number(select(`SELECT count(*) AS total FROM ranked WHERE ${conditions}`)[0]?.total),
      inOrder,
      /** Uids are looked up for these alone, unless the score that divides them from the rest is one that several share. */
      best(limit: number): Candidate[] {
        const rows = select(`SELECT rowid AS id, ${score} AS score FROM ranked WHERE ${conditions} ORDER BY score DESC LIMIT ?`, limit + 1);
        const [last, next] = rows.slice(limit - 1);
        if (next && next.score === last?.score) return inOrder(limit, 0);
        return rows
          .slice(0, limit)
          .map(({ id, score }) => ({ id: Number(id), uid: String(readUid.get(id as number)?.uid), score: Number(score) }))
          .sort(byScore);
      },
    };
  }

  return (asked: string[], filters: Filter[], { uid, page, page_size }: SearchQuery): Ranking => {
    const words = chooseWords(asked);
    if (words.length === 0) return { entries: [], total: 0, related: [] };
    const related = relatedTo(matchAny(words));
    const matches = matching(matchAny(words), filters, uid !== undefined);
    const total = matches.count();
    const first = (page - 1) * page_size;

    if (asked.length >= widened.words && total < widened.below && related.length > 0) {
      const direct = reorder(matches.best(widened.below), related);
      const others = matching(`(${matchAny(related)}) NOT (${matchAny(words)})`, filters, uid !== undefined);
      const indirect = others.best(reordered - total).map((candidate) => ({ ...candidate, score: relatedWeight * candidate.score }));
      const all = [...direct, ...indirect].sort(byScore);
      return { entries: all.slice(first, first + page_size), total: all.length, related };
    }

    const best = first < reordered ? reorder(matches.best(reordered), related).slice(first, first + page_size) : [];
    const at = Math.max(first, reordered);
    const rest = page_size - best.length;
    return { entries: rest > 0 && at < total ? [...best, ...matches.inOrder(rest, at)] : best, total, related: [] };
  };
}
