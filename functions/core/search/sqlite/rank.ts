import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { combine, type RankingWeights } from '../ranking-weights.ts';
import { nameKey, wordsOf } from '../text.ts';
import { wordVectors } from '../word-vectors.ts';
import type { Embeddings } from './embeddings.ts';
import type { Postings, Scores } from './postings.ts';
import { hashQuestion, splitQuestion, type TermOverlaps } from './term-overlap.ts';
import { selectTopK } from './top-k.ts';

/** A condition on an entry: SQL that selects ids, and the value of its only parameter. */
export interface Filter {
  ids: string;
  value: string;
}

export interface Entry {
  id: number;
  score: number;
}

/** In-memory structures that the ranking reads. */
export interface InMemory {
  postings: Postings;
  embeddings: Embeddings;
  overlaps: TermOverlaps;
}

export interface Ranking {
  /** the entries of one page */
  entries: Entry[];
  /** on all pages */
  total: number;
}

interface Candidate extends Entry {
  uid: string;
}

/** Number of best entries by BM25 that are reranked by all features. */
const maxReranked = 200;

/** Maximum number of exact name matches that are listed first; if there are more, the best by BM25. */
const maxNamed = 200;

/** Limits of entries that a question finds by similarity alone. Questions with fewer words are keywords, which must match literally. */
const bySimilarity = { max: 20, minCosine: 0.25, minWords: 4 };

export const conditionsOf = (filters: Filter[]): string[] => filters.map(({ ids }) => `id IN (${ids})`);

const sql = {
  matching: (filters: Filter[]) => `SELECT id FROM intent WHERE ${conditionsOf(filters).join(' AND ')}`,
  named: 'SELECT id FROM intent WHERE name_key = ?',
  name: "SELECT record ->> 'intent_name' AS name FROM definition WHERE id = ?",
};

type Scored = Pick<Scores, 'ids' | 'scores'>;

function select({ ids, scores }: Scored, isSelected: (id: number) => boolean): Scored {
  const isKept = (_: number, at: number) => isSelected(ids[at] as number);
  return { ids: ids.filter(isKept), scores: scores.filter(isKept) };
}

const compareCandidates = (a: Candidate, b: Candidate): number => b.score - a.score || (a.uid < b.uid ? -1 : 1);

/** Intents are as relevant as others if their scores agree in two decimals. */
const equalScore = ({ score }: Candidate): number => Math.round(score * 100);

function embedQuestion(question: string): { whole: Float32Array; sentences: Float32Array[] } | undefined {
  const { embed } = wordVectors();
  const [whole, ...sentences] = splitQuestion(question).map(embed);
  return whole && { whole, sentences: sentences.filter((sentence) => sentence !== undefined) };
}

export interface RankingOptions {
  isFailing?: ((uid: string) => boolean) | undefined;
  isForbidden?: ((id: number, uid: string) => boolean) | undefined;
  weights?: RankingWeights | undefined;
}

/** Ranks entries that contain a word of the question, are similar to it, or have it as their name; exact names come first. */
export function prepareRanking(database: DatabaseSync, { postings, embeddings, overlaps: { uidOf, compare } }: InMemory) {
  const findNamed = database.prepare(sql.named);
  const readName = database.prepare(sql.name);

  function openFilter(filters: Filter[], withDeprecated: boolean): (id: number) => boolean {
    if (filters.length === 0) return (id) => withDeprecated || id > 0;
    const ids = new Set<number>();
    for (const { id } of database.prepare(sql.matching(filters)).iterate(...filters.map(({ value }) => value))) ids.add(Number(id));
    return (id) => (withDeprecated || id > 0) && ids.has(id);
  }

  const topOf = ({ ids, scores }: Scored, count: number): Candidate[] =>
    selectTopK(scores, count)
      .map((at) => ({ id: ids[at] as number, uid: uidOf(ids[at] as number), score: scores[at] as number }))
      .sort(compareCandidates)
      .slice(0, count);

  /** Entries whose name is the question: 2 if the spelling is identical, else 1. */
  function matchNames(question: string, found: Scores, isWanted: (id: number) => boolean): Map<number, 1 | 2> {
    const ids = findNamed.all(nameKey(question)).map(({ id }) => Number(id));
    const wanted = new Set(ids.filter(isWanted));
    const isWantedName = (id: number) => wanted.has(id);
    const best = wanted.size > maxNamed ? topOf(select(found, isWantedName), maxNamed) : [];
    const first = [...new Set([...best.map(({ id }) => id), ...wanted])].slice(0, maxNamed);
    const spelling = question.normalize('NFC').trim();
    return new Map(first.map((id) => [id, readName.get(id)?.name === spelling ? 2 : 1]));
  }

  function rankBest(
    question: string,
    found: Scores,
    isWanted: (id: number) => boolean,
    named: Iterable<number>,
    weights: RankingWeights | undefined,
  ) {
    const best = topOf(found, maxReranked);
    const maxScore = best[0]?.score ?? 1;
    const embedded = embedQuestion(question);
    const similar =
      embedded && wordsOf(question).length >= bySimilarity.minWords
        ? embeddings.nearest(embedded.whole, bySimilarity.max, isWanted).filter(({ cosine }) => cosine >= bySimilarity.minCosine)
        : [];
    const known = new Set(best.map(({ id }) => id));
    const others = [...new Set([...named, ...similar.map(({ id }) => id)])].filter((id) => !known.has(id));
    const terms = hashQuestion(question);

    const similarityOf = (id: number): number => {
      if (!embedded) return 0;
      const whole = embeddings.cosine(id, embedded.whole);
      if (embedded.sentences.length === 0) return whole;
      return (whole + Math.max(...embedded.sentences.map((sentence) => embeddings.cosine(id, sentence)))) / 2;
    };
    const candidates: Candidate[] = [...best, ...others.map((id) => ({ id, uid: uidOf(id), score: 0 }))];
    const ranked = candidates.map(({ id, uid, score }): Candidate => {
      const features = { bm25: score / maxScore, similarity: similarityOf(id), ...compare(terms, id) };
      return { id, uid, score: combine(features, weights) };
    });
    return { ranked, others, maxScore };
  }

  return function rank(
    question: string,
    words: readonly string[],
    filters: Filter[],
    { uid, page, page_size }: SearchQuery,
    { weights, isForbidden, isFailing }: RankingOptions = {},
  ): Ranking {
    const isWanted = openFilter(filters, uid !== undefined);
    const found = postings.score(words, isWanted);
    const named = matchNames(question, found, isWanted);
    const { ranked, others, maxScore } = rankBest(question, found, isWanted, named.keys(), weights);
    const total = found.ids.length + others.filter((id) => !found.has(id)).length;

    const sorted = ranked
      .map((entry) => ({
        ...entry,
        isForbidden: isForbidden?.(entry.id, entry.uid) ?? false,
        isFailing: isFailing?.(entry.uid) ?? false,
        nameMatch: named.get(entry.id) ?? 0,
      }))
      .sort(
        (a, b) =>
          Number(a.isForbidden) - Number(b.isForbidden) ||
          b.nameMatch - a.nameMatch ||
          equalScore(b) - equalScore(a) ||
          Number(a.isFailing) - Number(b.isFailing) ||
          compareCandidates(a, b),
      );
    const first = (page - 1) * page_size;
    const entries = sorted.slice(first, first + page_size);
    const missing = page_size - entries.length;
    if (missing === 0 || first + entries.length >= total) return { entries, total };
    // the remaining entries follow the reranked ones, ordered by BM25
    const offset = Math.max(first, sorted.length) - others.length;
    const extra = new Set(others);
    const isOrdinary = (id: number) => !extra.has(id);
    const rest = topOf(select(found, isOrdinary), offset + missing).slice(offset);
    return { entries: [...entries, ...rest.map(({ id, score }) => ({ id, score: score / maxScore }))], total };
  };
}
