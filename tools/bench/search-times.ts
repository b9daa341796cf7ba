import { type SearchQuery, searchQuery } from '../../schemas/search.ts';
import { percentile } from './load.ts';
import { numbers } from './search-corpus/multiply.ts';
import type { Corpus } from './search-corpus.ts';

export const milliseconds = (time: number): string => `${time.toFixed(2)} ms`;

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
