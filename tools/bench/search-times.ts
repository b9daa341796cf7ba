import { type SearchQuery, searchQuery } from '../../schemas/search.ts';
import { percentile } from './load.ts';
import { numbers } from './search-corpus/multiply.ts';
import type { Corpus } from './search-corpus.ts';

type Times = Record<'median' | 'p95', string>;

export const milliseconds = (time: number): string => `${time.toFixed(2)} ms`;

async function timeEach(search: (query: SearchQuery) => unknown, queries: SearchQuery[]): Promise<Times> {
  for (const query of queries.slice(0, 20)) await search(query);
  const times: number[] = [];
  for (const query of queries) {
    const startMs = performance.now();
    await search(query);
    times.push(performance.now() - startMs);
  }
  return { median: milliseconds(percentile(times, 0.5)), p95: milliseconds(percentile(times, 0.95)) };
}

/**
 * Times an engine and plain FTS5 alternately with questions of ten words, so that load on the machine affects both alike.
 * @returns the times, and the ratio of the engine's to those of FTS5
 */
export async function compareTimes(search: (query: SearchQuery) => unknown, searchRaw: (question: string) => unknown, { queries }: Corpus) {
  const words = queries.flatMap(({ query }) => query.split(' '));
  const next = numbers(11);
  const questions = queries.map(() => Array.from({ length: 10 }, () => words[Math.floor(next() * words.length)]).join(' '));
  const times: Record<'engine' | 'plain FTS5', number[]> = { engine: [], 'plain FTS5': [] };
  for (const [at, question] of questions.entries()) {
    const query = searchQuery.parse({ query: question });
    for (const [name, ask] of [
      ['engine', () => search(query)],
      ['plain FTS5', () => searchRaw(question)],
    ] as const) {
      const startMs = performance.now();
      await ask();
      if (at >= 20) times[name].push(performance.now() - startMs);
    }
  }
  const at = (share: number) => {
    const [ours, raw] = [percentile(times.engine, share), percentile(times['plain FTS5'], share)];
    return { engine: milliseconds(ours), 'plain FTS5': milliseconds(raw), ratio: (ours / raw).toFixed(2) };
  };
  return { 'ten words, median': at(0.5), 'ten words, p95': at(0.95) };
}

/**
 * Times an engine with the questions of the corpus, one after another, in several forms.
 * @param lastPage - number of the last page, of ten results each, when listing everything
 */
export async function timeSearches(
  search: (query: SearchQuery) => unknown,
  { queries }: Corpus,
  lastPage: number,
): Promise<Record<string, Times>> {
  const next = numbers(7);
  const questions = queries.map(({ query }) => query);
  const words = questions.flatMap((question) => question.split(' '));
  const ofTwentyWords = () => Array.from({ length: 20 }, () => words[Math.floor(next() * words.length)]).join(' ');
  const ask = (toQuery: (question: string) => Record<string, string>) =>
    timeEach(
      search,
      questions.map((question) => searchQuery.parse(toQuery(question))),
    );
  return {
    'a query': await ask((query) => ({ query })),
    'a query of 20 words': await ask(() => ({ query: ofTwentyWords() })),
    'a query, a tag and a name': await ask((query) => ({ query, tags: 'travel', intent_name: 'get' })),
    'words in the description': await ask(() => ({ description: 'a book' })),
    'no filter, last page': await ask(() => ({ page: String(lastPage) })),
  };
}
