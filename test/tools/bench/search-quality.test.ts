import { describe, expect, test } from '@jest/globals';
import { builtInCorpus, readCorpus } from '../../../tools/bench/search-corpus.ts';
import { compareQuality, judge } from '../../../tools/bench/search-quality.ts';

describe('judge', () => {
  const queries = [{ query: 'q', relevant: ['a', 'b'] }];
  const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);
  test.each([
    ['all found first', ['a', 'b', 'x'], { 'nDCG@10': 1, 'recall@5': 1, 'recall@10': 1, MRR: 1, 'top 1': 1, 'top 3': 1, 'top 10': 1 }],
    [
      'one found third',
      ['x', 'y', 'b'],
      { 'nDCG@10': 0.307, 'recall@5': 0.5, 'recall@10': 0.5, MRR: 0.333, 'top 1': 0, 'top 3': 1, 'top 10': 1 },
    ],
    [
      'one found sixth',
      [...others.slice(0, 5), 'a'],
      { 'nDCG@10': 0.218, 'recall@5': 0, 'recall@10': 0.5, MRR: 0.167, 'top 1': 0, 'top 3': 0, 'top 10': 1 },
    ],
    ['none among ten', [...others, 'a', 'b'], { 'nDCG@10': 0, 'recall@5': 0, 'recall@10': 0, MRR: 0, 'top 1': 0, 'top 3': 0, 'top 10': 0 }],
  ])('judge measures a ranking: %s', (_, found, quality) => {
    expect(judge(queries, () => found)).toEqual(quality);
  });
});

test('the shipped recipe clearly beats plain SQLite FTS5', async () => {
  const quality = compareQuality(await readCorpus(builtInCorpus));
  const of = (recipe: string) => quality[recipe]?.['nDCG@10'] ?? Number.NaN;
  expect(of('+ names that say the question: as shipped')).toBeGreaterThan(of('words alone (BM25)') + 0.05);
  expect(of('words alone (BM25)')).toBeGreaterThan(of('raw FTS5 with OR') + 0.05);
});
