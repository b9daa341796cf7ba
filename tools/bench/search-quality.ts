import { type RankingWeights, rankingWeights } from '../../functions/core/search/ranking-weights.ts';
import type { SearchEngine } from '../../functions/core/search/search-engine.ts';
import { openDatabase } from '../../functions/core/search/sqlite/database.ts';
import { openSearchIndex } from '../../functions/core/search/sqlite/search-index.ts';
import { searchQuery } from '../../schemas/search.ts';
import { type Corpus, type Document, idsByUid, type JudgedQuery, toRecords } from './search-corpus.ts';

/** Metrics from 0 to 1. `isHit` says of each of up to ten results whether it is relevant. */
const metrics = {
  'nDCG@10': (isHit: boolean[], relevant: number) => gain(isHit) / gain(Array(Math.min(relevant, 10)).fill(true)),
  'recall@5': (isHit: boolean[], relevant: number) => count(isHit.slice(0, 5)) / relevant,
  'recall@10': (isHit: boolean[], relevant: number) => count(isHit) / relevant,
  /** whether a relevant result is first, or among the first three or ten */
  'top 1': (isHit: boolean[]) => Number(isHit.slice(0, 1).includes(true)),
  'top 3': (isHit: boolean[]) => Number(isHit.slice(0, 3).includes(true)),
  'top 10': (isHit: boolean[]) => Number(isHit.includes(true)),
  /** reciprocal rank of the first relevant result */
  MRR: (isHit: boolean[]) => (isHit.includes(true) ? 1 / (isHit.indexOf(true) + 1) : 0),
};

const count = (isHit: boolean[]): number => isHit.filter(Boolean).length;
const gain = (isHit: boolean[]): number => isHit.reduce((total, hit, rank) => total + (hit ? 1 / Math.log2(rank + 2) : 0), 0);

export type Quality = Record<keyof typeof metrics, number>;

/** Returns the ids that answer a question, best first: ten, or all if there are fewer. */
type Ranker = (question: string) => string[];

export function judge(queries: readonly JudgedQuery[], rank: Ranker): Quality {
  const answers = queries.map(({ query, relevant }) => {
    const ids = rank(query).slice(0, 10);
    return { isHit: ids.map((id) => relevant.includes(id)), wanted: new Set(relevant).size };
  });
  const mean = (metric: (typeof metrics)[keyof Quality]) =>
    Number((answers.reduce((sum, { isHit, wanted }) => sum + metric(isHit, wanted), 0) / queries.length).toFixed(3));
  return Object.fromEntries(Object.entries(metrics).map(([name, metric]) => [name, mean(metric)])) as Quality;
}

function openRanker(documents: readonly Document[]): (weights?: RankingWeights) => Ranker {
  const index = openSearchIndex(':memory:');
  index.apply(toRecords(documents));
  const ids = idsByUid(documents);
  return (weights = rankingWeights) =>
    (query) =>
      index.search(searchQuery.parse({ query }), { weights }).hits.map(({ intent }) => ids.get(intent.intent_uid) ?? '');
}

export const shipped = (documents: readonly Document[]): Ranker => openRanker(documents)();

const onlyWords: RankingWeights = { ...rankingWeights, similarity: 0, name: 0, sentence: 0 };
const { similarity } = rankingWeights;

/** The features of the ranking, added one by one. */
const recipes: Record<string, RankingWeights> = {
  'words alone (BM25)': onlyWords,
  '+ similarity': { ...onlyWords, similarity },
  '+ names that say the question: as shipped': rankingWeights,
};

const texts = ({ name, description, tags, service_name, input, output }: Document): string[] => [
  name,
  description,
  tags.join(' '),
  service_name,
  [...input, ...output].map(({ name, description = '' }) => `${name} ${description}`).join(' '),
];

const plainWords = (text: string): string[] => [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])];

/** Plain FTS5: default tokenizer, equal fields, words joined with OR. */
export function openRawFullText(file: string) {
  const database = openDatabase(file);
  database.exec('CREATE VIRTUAL TABLE IF NOT EXISTS raw USING fts5 (name, description, tags, service, parameters)');
  const insert = database.prepare('INSERT INTO raw (rowid, name, description, tags, service, parameters) VALUES (?, ?, ?, ?, ?, ?)');
  const find = database.prepare('SELECT rowid AS at FROM raw WHERE raw MATCH ? ORDER BY rank LIMIT 10');
  return {
    add(documents: readonly Document[], from = 0): void {
      database.exec('BEGIN');
      for (const [at, document] of documents.entries()) insert.run(BigInt(from + at), ...texts(document));
      database.exec('COMMIT');
    },
    search(question: string): number[] {
      const words = plainWords(question);
      if (words.length === 0) return [];
      return find.all(words.map((word) => `"${word}"`).join(' OR ')).map(({ at }) => Number(at));
    },
    close: () => database.close(),
  };
}

function rawFullText(documents: readonly Document[]): Ranker {
  const raw = openRawFullText(':memory:');
  raw.add(documents);
  return (question) => raw.search(question).map((at) => documents[at]?.id ?? '');
}

/** Collects the results of an engine that contains the documents. */
export async function askEngine(search: SearchEngine['search'], { documents, queries }: Corpus): Promise<Ranker> {
  const ids = idsByUid(documents);
  const answers = new Map<string, string[]>();
  for (const { query } of queries) {
    const { hits } = await search(searchQuery.parse({ query }));
    answers.set(
      query,
      hits.map(({ intent }) => ids.get(intent.intent_uid) ?? ''),
    );
  }
  return (question) => answers.get(question) ?? [];
}

/** Compares the shipped ranking, feature by feature, with the baseline. */
export function compareQuality({ documents, queries }: Corpus): Record<string, Quality> {
  const rankBy = openRanker(documents);
  const rankers = {
    ...Object.fromEntries(Object.entries(recipes).map(([title, weights]) => [title, rankBy(weights)])),
    'raw FTS5 with OR': rawFullText(documents),
  };
  return Object.fromEntries(Object.entries(rankers).map(([title, ranker]) => [title, judge(queries, ranker)]));
}
