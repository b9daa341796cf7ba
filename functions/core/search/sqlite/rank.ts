import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { gistOfQuestion, partsOfQuestion } from '../likeness.ts';
import { questionWords } from '../query.ts';
import { combine, type Layers, type RankingWeights } from '../ranking-weights.ts';
import { nameKey, wordsOf } from '../text.ts';
import { wordVectors } from '../word-vectors.ts';
import type { Gists } from './gists.ts';
import { findGreatest } from './greatest.ts';
import type { Meanings } from './meanings.ts';
import type { Postings, Scores } from './postings.ts';

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

/** What is ranked by, of all entries. */
export interface InMemory {
  postings: Postings;
  meanings: Meanings;
  gists: Gists;
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

/** How many entries whose name is the question come first; if more have that name, these are the best by their words. */
const maxByName = 200;

/**
 * How many entries a question may find by its meaning alone, and how near they must be. Fewer words are search terms, which are meant as
 * they are.
 */
const byMeaning = { max: 20, minCosine: 0.25, minWords: 4 };

const sql = {
  passing: (filters: Filter[]) => `SELECT id FROM intent WHERE ${filters.map(({ ids }) => `id IN (${ids})`).join(' AND ')}`,
  named: 'SELECT id FROM intent WHERE name_key = ?',
  name: "SELECT record ->> 'intent_name' AS name FROM definition WHERE id = ?",
};

type Listed = Pick<Scores, 'ids' | 'scores'>;

/** The scores of some entries. */
function select({ ids, scores }: Scores, isChosen: (id: number) => boolean): Listed {
  const isKept = (_: number, at: number) => isChosen(ids[at] as number);
  return { ids: ids.filter(isKept), scores: scores.filter(isKept) };
}

const compareCandidates = (a: Candidate, b: Candidate): number => b.score - a.score || (a.uid < b.uid ? -1 : 1);

type UidOf = (id: number) => string;

/** The order by score, equal scores by uid. */
const sortEntries = (entries: Entry[], uidOf: UidOf): Entry[] =>
  entries.map((entry) => ({ ...entry, uid: uidOf(entry.id) })).sort(compareCandidates);

/** The first entries of that order; where it does not decide who is among them, equal scores stand in any order. */
function readBest({ ids, scores }: Listed, count: number, uidOf: UidOf): Entry[] {
  const entries = findGreatest(scores, count).map((at): Entry => ({ id: ids[at] as number, score: scores[at] as number }));
  entries.sort((a, b) => b.score - a.score);
  const least = entries[count - 1]?.score;
  if (least === undefined || entries[count]?.score !== least) return entries.slice(0, count);
  const above = entries.filter(({ score }) => score > least);
  const equal = entries.filter(({ score }) => score === least);
  return [...above, ...sortEntries(equal, uidOf)].slice(0, count);
}

/** The directions of a question: as a whole, and of each of its sentences. */
function directionsOf(question: string): { whole: Float32Array; parts: Float32Array[] } | undefined {
  const { vectorOf } = wordVectors();
  const [whole, ...parts] = partsOfQuestion(question).map(vectorOf);
  return whole && { whole, parts: parts.filter((part) => part !== undefined) };
}

export interface RankingOptions {
  /** what comes after all others of the best */
  isForbidden?: ((candidate: { id: number; uid: string }) => boolean) | undefined;
  /** default: those that the project ships */
  weights?: RankingWeights;
}

/** Ranks a question: the entries that hold any of its words, those that are near it in meaning, and first of all those that are called so. */
export function prepareRanking(database: DatabaseSync, { postings, meanings, gists: { uidOf, likeness } }: InMemory) {
  /** Whether an entry passes all filters. */
  function passing(filters: Filter[], withDeprecated: boolean): (id: number) => boolean {
    if (filters.length === 0) return (id) => withDeprecated || id > 0;
    const ids = new Set<number>();
    for (const { id } of database.prepare(sql.passing(filters)).iterate(...filters.map(({ value }) => value))) ids.add(Number(id));
    return (id) => (withDeprecated || id > 0) && ids.has(id);
  }

  const findNamed = database.prepare(sql.named);
  const readName = database.prepare(sql.name);

  /** Entries whose name is the question, and how much so: 2 if it is written in the same way, else 1. */
  function nameMatches(question: string, held: Scores, isWanted: (id: number) => boolean): Map<number, 1 | 2> {
    const named = findNamed.all(nameKey(question)).map(({ id }) => Number(id));
    const wanted = new Set(named.filter(isWanted));
    const best =
      wanted.size > maxByName
        ? readBest(
            select(held, (id) => wanted.has(id)),
            maxByName,
            uidOf,
          )
        : [];
    const first = [...new Set([...best.map(({ id }) => id), ...wanted])].slice(0, maxByName);
    const written = question.normalize('NFC').trim();
    return new Map(first.map((id) => [id, readName.get(id)?.name === written ? 2 : 1]));
  }

  /** The best entries, and what each layer says of them. */
  function rankBest(question: string, held: Scores, isWanted: (id: number) => boolean, named: Iterable<number> = []) {
    const best = readBest(held, maxByWords, uidOf);
    const greatest = best[0]?.score ?? 1;
    const directions = directionsOf(question);
    const known = new Set(best.map(({ id }) => id));
    const near =
      directions && wordsOf(question).length >= byMeaning.minWords
        ? meanings
            .nearest(directions.whole, byMeaning.max, isWanted)
            .flatMap(({ id, cosine }) => (cosine >= byMeaning.minCosine ? [id] : []))
        : [];
    const others = [...new Set([...named, ...near])].filter((id) => !known.has(id));
    const asked = gistOfQuestion(question);

    const meaningOf = (id: number): number => {
      if (!directions) return 0;
      const whole = meanings.cosine(id, directions.whole);
      if (directions.parts.length === 0) return whole;
      return (whole + Math.max(...directions.parts.map((part) => meanings.cosine(id, part)))) / 2;
    };
    const candidates = [...best, ...others.map((id): Entry => ({ id, score: 0 }))];
    const ranked = candidates.map(({ id, score }): Ranked => {
      const layers = { words: score / greatest, meaning: meaningOf(id), ...likeness(asked, id) };
      return { id, uid: uidOf(id), score: 0, layers };
    });
    return { ranked, others, greatest };
  }

  return {
    /** All that the layers say of the best entries: what weights are chosen by. */
    describeBest(question: string): Ranked[] {
      const words = questionWords(question);
      if (words.length === 0) return [];
      const isWanted = passing([], false);
      return rankBest(question, postings.score(words, isWanted), isWanted).ranked;
    },

    rank(
      question: string,
      filters: Filter[],
      { uid, page, page_size }: SearchQuery,
      { weights, isForbidden }: RankingOptions = {},
    ): Ranking {
      const isWanted = passing(filters, uid !== undefined);
      const held = postings.score(questionWords(question), isWanted);
      const named = nameMatches(question, held, isWanted);
      const { ranked, others, greatest } = rankBest(question, held, isWanted, named.keys());
      const total = held.ids.length + others.filter((id) => !held.has(id)).length;

      const sorted = ranked
        .map((candidate) => ({
          ...candidate,
          score: combine(candidate.layers, weights),
          isForbidden: isForbidden?.(candidate) ?? false,
          nameMatch: named.get(candidate.id) ?? 0,
        }))
        .sort((a, b) => Number(a.isForbidden) - Number(b.isForbidden) || b.nameMatch - a.nameMatch || compareCandidates(a, b));
      const first = (page - 1) * page_size;
      const entries = sorted.slice(first, first + page_size);
      const missing = page_size - entries.length;
      const beyond = Math.max(first, sorted.length) - others.length;
      const extra = new Set(others);
      const isOrdinary = (id: number) => !extra.has(id);
      const rest =
        missing > 0 && first + entries.length < total
          ? sortEntries(readBest(select(held, isOrdinary), beyond + missing, uidOf), uidOf).slice(beyond)
          : [];
      return { entries: [...entries, ...rest.map(({ id, score }) => ({ id, score: score / greatest }))], total };
    },
  };
}
