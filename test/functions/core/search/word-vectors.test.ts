import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { dimensions, readWordVectors } from '../../../../functions/core/search/word-vectors.ts';

const bytes = readFileSync('functions/core/search/word-vectors.bin');

/** What `tools/train-vectors/make.py` wrote beside the file that it made. */
const made = z
  .object({ sha256: z.string(), texts: z.array(z.object({ text: z.string(), vector: z.array(z.number()) })) })
  .parse(JSON.parse(readFileSync('test/functions/core/search/word-vectors.json', 'utf8')));

const { embed } = readWordVectors(bytes);

const cosine = (one: string, other: string): number => {
  const [a, b] = [Array.from(embed(one) ?? []), embed(other)];
  return a.reduce((sum, number, at) => sum + number * (b?.[at] ?? 0), 0);
};

test('the file is the one that the script made', () => {
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(made.sha256);
  expect(bytes.length).toBeLessThan(4_500_000);
});

test.each(made.texts)('"$text" has the vector that the script found', ({ text, vector }) => {
  const read = Array.from(embed(text) ?? []);
  expect(read).toHaveLength(dimensions);
  for (const [at, number] of read.entries()) expect(number).toBeCloseTo(vector[at] ?? Number.NaN, 4);
});

describe('a vector', () => {
  test('a vector is near to those of texts that mean the same', () => {
    expect(cosine('cinema', 'movie theater')).toBeGreaterThan(0.5);
    expect(cosine('refund a payment', 'give money back')).toBeGreaterThan(cosine('refund a payment', 'play a song') + 0.2);
  });

  test('a vector does not depend on case, accents, stop words, or how a name is written', () => {
    for (const text of ['Convert Currency', 'convertCurrency', 'convert_currency', 'how do I convert a currency?'])
      expect(cosine(text, 'convert currency')).toBeCloseTo(1, 5);
    expect(cosine('Café', 'cafe')).toBeCloseTo(1, 5);
  });

  test.each(['', '?!', '天気予報', 'ж'.repeat(101)])('there is no vector for %j, of which no word has pieces', (text) => {
    expect(embed(text)).toBeUndefined();
  });
});

test('a damaged file is refused', () => {
  expect(() => readWordVectors(bytes.subarray(0, -1))).toThrow('word-vectors.bin is damaged: regenerate it');
});
