import type { DatabaseSync } from 'node:sqlite';
import { toIntentDetails } from '../../../../schemas/intent.ts';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { foldTag } from '../../../../schemas/text.ts';
import type { IntentRecord } from '../../registry/records.ts';
import { listedTags, questionWords, respell } from '../query.ts';
import type { Hit, SearchOptions, SearchResult } from '../search-engine.ts';
import { tokenize } from '../text.ts';
import { conditionsOf, type Filter, type InMemory, prepareRanking, type Ranking, type RankingOptions } from './rank.ts';

const sql = {
  hit: `SELECT record, digest, service.name AS service_name FROM intent JOIN definition USING (id) JOIN service ON service.id = service_id
        WHERE intent.id = ?`,
  count: (conditions: string) => `SELECT count(*) AS total FROM intent WHERE ${conditions}`,
  all: 'SELECT id, uid FROM intent',
  byUid: (conditions: string) => `SELECT id FROM intent WHERE ${conditions} AND uid > ? ORDER BY uid LIMIT ? OFFSET ?`,
};

/**
 * The FTS5 expression for "every word of the text is a word of the column, or a prefix of one". Words in camelCase may also match as a whole:
 * `GitHub` finds `github`. Words consist of letters and digits, so the text cannot contain FTS5 syntax.
 * @returns undefined if the text has no words
 */
function matchEvery(column: string, text: string): string | undefined {
  const tokens = tokenize(text);
  if (tokens.length === 0) return undefined;
  const prefixes = (words: string[]) => words.map((word) => `"${word}" *`).join(' AND ');
  const alternatives = tokens.map(({ whole, parts }) =>
    parts.length > 1 ? `(${prefixes([whole])} OR (${prefixes(parts)}))` : prefixes([whole]),
  );
  return `${column} : (${[...new Set(alternatives)].join(' AND ')})`;
}

function filtersOf(query: SearchQuery): Filter[] | undefined {
  const filters: Filter[] = [];
  if (query.method !== undefined) filters.push({ ids: 'SELECT id FROM intent WHERE method = ?', value: query.method });
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

function list(database: DatabaseSync, filters: Filter[], { uid, after, page, page_size }: SearchQuery): Ranking {
  const conditions = [...(uid === undefined ? ['id > 0'] : []), ...conditionsOf(filters)].join(' AND ');
  const values = filters.map(({ value }) => value);
  const total = Number(database.prepare(sql.count(conditions)).get(...values)?.total);
  const offset = after === undefined ? (page - 1) * page_size : 0;
  const rows = database.prepare(sql.byUid(conditions)).all(...values, after ?? '', page_size, offset);
  return { entries: rows.map(({ id }) => ({ id: Number(id), score: 0 })), total };
}

/** Most lists of rules whose verdicts are kept. */
const maxJudges = 4;

interface IndexSearchOptions extends SearchOptions, Pick<RankingOptions, 'weights'> {}

export function prepareSearch(database: DatabaseSync, inMemory: InMemory) {
  const rank = prepareRanking(database, inMemory);
  const readHit = database.prepare(sql.hit);

  const read = (id: number) => {
    const { record, digest, service_name } = readHit.get(id) as { record: string; digest: string; service_name: string };
    return { record: JSON.parse(record) as IntentRecord, digest, service_name };
  };

  const readAll = database.prepare(sql.all);

  /** A filter for the entries that are not left out. */
  function keepOthers(isLeftOut: NonNullable<RankingOptions['isForbidden']>): Filter[] {
    const kept: number[] = [];
    let leftOut = 0;
    for (const { id, uid } of readAll.iterate()) {
      if (isLeftOut(Number(id), String(uid))) leftOut++;
      else kept.push(Number(id));
    }
    return leftOut === 0 ? [] : [{ ids: 'SELECT value FROM json_each(?)', value: JSON.stringify(kept) }];
  }

  interface Verdicts extends Map<number, boolean> {
    filters?: Filter[];
  }

  const verdicts = new Map<object, Verdicts>();

  /** The verdicts that were reached since the last change of the index, by entry, and the filter by them. */
  function verdictsOf(judge: object): Verdicts {
    const known = verdicts.get(judge) ?? new Map();
    if (verdicts.size >= maxJudges && !verdicts.has(judge)) verdicts.clear();
    verdicts.set(judge, known);
    return known;
  }

  function search(query: SearchQuery, { weights, isForbidden, judgedBy, isFailing }: IndexSearchOptions = {}): SearchResult {
    const filters = filtersOf(query);
    const words = respell(questionWords(query.query ?? ''), inMemory.postings.isKnown);
    const known = judgedBy && verdictsOf(judgedBy);
    const isLeftOut: RankingOptions['isForbidden'] =
      isForbidden &&
      ((id, uid) => {
        const verdict = known?.get(id) ?? isForbidden(uid, () => read(id));
        known?.set(id, verdict);
        return verdict;
      });
    if (query.permitted && isLeftOut) {
      const others = known?.filters ?? keepOthers(isLeftOut);
      if (known) known.filters = others;
      filters?.push(...others);
    }
    if (!filters || (query.query !== undefined && words.length === 0)) return { hits: [], total: 0 };
    const { entries, total } =
      query.query === undefined
        ? list(database, filters, query)
        : rank(query.query, words, filters, query, { weights, isForbidden: isLeftOut, isFailing });
    const hits = entries.map(({ id, score }): Hit => {
      const { record, digest, service_name } = read(id);
      const intent = toIntentDetails(record, service_name, digest);
      return {
        intent,
        ...(query.view === 'catalogue' && { method: record.endpoint.method }),
        ...(query.explain === 'true' && { match: { score, words: words.filter((word) => inMemory.postings.contains(word, id)) } }),
      };
    });
    return { hits, total };
  }

  /** Has to be called after each change of the index. */
  return { search, forgetVerdicts: () => verdicts.clear() };
}
