import type { DatabaseSync } from 'node:sqlite';
import { type IntentDetails, type Match, toIntentDetails } from '../../../schemas/intent.ts';
import type { SearchQuery } from '../../../schemas/search.ts';
import type { IntentRecord } from '../store/records.ts';
import { foldTag, listedTags, matchAny, matchEvery, questionWords } from './query.ts';
import { type Entry, type Filter, type Ranking, rankEntries } from './rank-entries.ts';

/** An intent that a search found. */
export interface Hit {
  intent: IntentDetails;
  /** why it was found, where `explain` asked for it */
  match?: Match;
}

export interface SearchResult {
  /** the hits of the page that was asked for */
  hits: Hit[];
  /** how many intents match, on all pages */
  total: number;
}

const nothing: SearchResult = { hits: [], total: 0 };

/** @returns undefined where no intent can match */
function filtersOf(query: SearchQuery): Filter[] | undefined {
  const filters: Filter[] = [];
  for (const field of ['service_name', 'intent_name', 'description'] as const) {
    if (query[field] === undefined) continue;
    const value = matchEvery(field, query[field]);
    if (value === undefined) return undefined;
    filters.push({ ids: 'SELECT rowid FROM exact WHERE exact MATCH ?', value });
  }
  if (query.namespace !== undefined) filters.push({ ids: 'SELECT id FROM intent WHERE namespace = ?', value: foldTag(query.namespace) });
  for (const value of listedTags(query.tags ?? '')) filters.push({ ids: 'SELECT id FROM tag WHERE tag = ?', value });
  if (query.uid !== undefined) filters.push({ ids: 'SELECT id FROM intent WHERE uid = ?', value: query.uid });
  return filters;
}

/** How an index answers a query: what all filters let through, by uid or, where there is a question, by how well it answers it. */
export function findIntents(database: DatabaseSync): (query: SearchQuery) => SearchResult {
  const rank = rankEntries(database);
  const readHit = database.prepare(
    `SELECT record, service.name AS service_name FROM intent JOIN definition USING (id) JOIN service ON service.id = service_id
     WHERE intent.id = ?`,
  );
  const holdsAny = database.prepare('SELECT 1 FROM ranked WHERE ranked MATCH ? AND rowid = ?');

  /** Without a question: by uid, a page by its number or the one after a uid. */
  function list(filters: Filter[], { uid, after, page, page_size }: SearchQuery): Ranking {
    const conditions = [uid === undefined ? 'is_listed = 1 AND id > 0' : 'is_listed = 1', ...filters.map(({ ids }) => `id IN (${ids})`)];
    const from = `FROM intent WHERE ${conditions.join(' AND ')}`;
    const values = filters.map(({ value }) => value);
    const counted = database.prepare(`SELECT count(*) AS total ${from}`).get(...values);
    const offset = after === undefined ? (page - 1) * page_size : 0;
    const rows = database
      .prepare(`SELECT id ${from} AND uid > ? ORDER BY uid LIMIT ? OFFSET ?`)
      .all(...values, after ?? '', page_size, offset);
    return { entries: rows.map(({ id }) => ({ id: Number(id), score: 0 })), total: Number(counted?.total), related: [] };
  }

  /** The id goes in as a bigint because a number is bound as a float, and FTS5 takes no float for a rowid. */
  const heldOf = (words: string[], id: number): string[] =>
    words.filter((word) => holdsAny.get(matchAny([word]), BigInt(id)) !== undefined);

  const explain = (words: string[], related: string[], { id, score }: Entry): Match => {
    const held = heldOf(words, id);
    return { score, words: held.length > 0 ? held : heldOf(related, id) };
  };

  return (query) => {
    const filters = filtersOf(query);
    const words = query.query === undefined ? undefined : questionWords(query.query);
    if (!filters || words?.length === 0) return nothing;
    const { entries, total, related } = words ? rank(words, filters, query) : list(filters, query);
    const hits = entries.map((entry): Hit => {
      const { record, service_name } = readHit.get(entry.id) as { record: string; service_name: string };
      return {
        intent: toIntentDetails(JSON.parse(record) as IntentRecord, service_name),
        ...(query.explain === 'true' && { match: explain(words ?? [], related, entry) }),
      };
    });
    return { hits, total };
  };
}
