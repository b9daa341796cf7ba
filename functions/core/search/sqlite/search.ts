import type { DatabaseSync } from 'node:sqlite';
import { type Match, toIntentDetails } from '../../../../schemas/intent.ts';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { foldTag } from '../../../../schemas/text.ts';
import type { IntentRecord } from '../../registry/records.ts';
import { listedTags, questionWords } from '../query.ts';
import type { Hit, SearchOptions, SearchResult } from '../search-engine.ts';
import { matchEvery } from './match.ts';
import { type Entry, type Filter, type InMemory, prepareRanking, type Ranking, type RankingOptions } from './rank.ts';

const nothing: SearchResult = { hits: [], total: 0 };

/** The SQL that searches; `conditions` are on `intent`. */
const sql = {
  hit: `SELECT record, digest, service.name AS service_name FROM intent JOIN definition USING (id) JOIN service ON service.id = service_id
        WHERE intent.id = ?`,
  count: (conditions: string) => `SELECT count(*) AS total FROM intent WHERE ${conditions}`,
  byUid: (conditions: string) => `SELECT id FROM intent WHERE ${conditions} AND uid > ? ORDER BY uid LIMIT ? OFFSET ?`,
};

/** @returns undefined if no intent can match */
function filtersOf(query: SearchQuery): Filter[] | undefined {
  const filters: Filter[] = [];
  for (const field of ['service_name', 'intent_name', 'description'] as const) {
    if (query[field] === undefined) continue;
    const value = matchEvery(field, query[field]);
    if (value === undefined) return undefined;
    filters.push({ ids: 'SELECT rowid FROM exact WHERE exact MATCH ?', value });
  }
  if (query.namespace !== undefined) filters.push({ ids: 'SELECT id FROM intent WHERE namespace = ?', value: foldTag(query.namespace) });
  const tags = listedTags(query.tags ?? '');
  for (const value of tags) filters.push({ ids: 'SELECT id FROM tag WHERE tag = ?', value });
  if (query.uid !== undefined) filters.push({ ids: 'SELECT id FROM intent WHERE uid = ?', value: query.uid });
  return filters;
}

/** Without a question: by uid, a page by its number or the one after a uid. */
function list(database: DatabaseSync, filters: Filter[], { uid, after, page, page_size }: SearchQuery): Ranking {
  const listed = uid === undefined ? ['id > 0'] : [];
  const conditions = [...listed, ...filters.map(({ ids }) => `id IN (${ids})`)].join(' AND ');
  const values = filters.map(({ value }) => value);
  const total = Number(database.prepare(sql.count(conditions)).get(...values)?.total);
  const offset = after === undefined ? (page - 1) * page_size : 0;
  const rows = database.prepare(sql.byUid(conditions)).all(...values, after ?? '', page_size, offset);
  return { entries: rows.map(({ id }) => ({ id: Number(id), score: 0 })), total };
}

export interface IndexSearchOptions extends SearchOptions, Pick<RankingOptions, 'weights'> {}

/** Prepares an index to be searched: what passes all filters, by uid or, if there is a question, by how well it answers. */
export function prepareSearch(database: DatabaseSync, inMemory: InMemory) {
  const { rank, describeBest } = prepareRanking(database, inMemory);
  const readHit = database.prepare(sql.hit);

  const heldOf = (words: string[], id: number): string[] => words.filter((word) => inMemory.postings.holds(word, id));

  const explain = (words: string[], { id, score }: Entry): Match => ({ score, words: heldOf(words, id) });

  const readRecord = (id: number) => readHit.get(id) as { record: string; digest: string; service_name: string };

  const search = (query: SearchQuery, { weights, isForbidden }: IndexSearchOptions = {}): SearchResult => {
    const read = (id: number) => {
      const { record, service_name } = readRecord(id);
      return { record: JSON.parse(record) as IntentRecord, service_name };
    };
    const isBehind = isForbidden && (({ id, uid }: { id: number; uid: string }) => isForbidden(uid, () => read(id)));
    const filters = filtersOf(query);
    const words = query.query === undefined ? undefined : questionWords(query.query);
    if (!filters || words?.length === 0) return nothing;
    const { entries, total } =
      query.query === undefined
        ? list(database, filters, query)
        : rank(query.query, filters, query, { ...(weights && { weights }), isForbidden: isBehind });
    const hits = entries.map((entry): Hit => {
      const { record, digest, service_name } = readRecord(entry.id);
      return {
        intent: toIntentDetails(JSON.parse(record) as IntentRecord, service_name, digest),
        ...(query.explain === 'true' && { match: explain(words ?? [], entry) }),
      };
    });
    return { hits, total };
  };
  return { search, describeBest };
}
