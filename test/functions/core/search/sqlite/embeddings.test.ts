import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openBlobs, openDatabase } from '../../../../../functions/core/search/sqlite/database.ts';
import { openEmbeddings, quantize } from '../../../../../functions/core/search/sqlite/embeddings.ts';
import { dimensions } from '../../../../../functions/core/search/word-vectors.ts';

/** A vector of length 1 of which the first columns say most, as those of texts. */
const direction = (seed: number): Float32Array => {
  const numbers = Float32Array.from({ length: dimensions }, (_, at) => Math.sin(seed * 7.3 + at * (seed + 1.7)) / (1 + at / 4));
  const length = Math.hypot(...numbers);
  return numbers.map((number) => number / length);
};

test('a search by vector finds what comparing with every entry finds, whatever was set and removed before', () => {
  const step = fc.record({ id: fc.integer({ min: 1, max: 30 }), seed: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 0, max: 500 }), (steps, asked) => {
      const database = openDatabase(':memory:');
      const embeddings = openEmbeddings(openBlobs(database, 'embedding'));
      const kept = new Map<number, Float32Array>();
      for (const { id, seed } of steps) {
        if (seed === undefined) {
          embeddings.remove(id);
          kept.delete(id);
        } else {
          embeddings.set(id, quantize(direction(seed)));
          kept.set(id, direction(seed));
        }
      }
      const question = direction(asked);
      const cosines = [...kept].map(([id, vector]) => ({
        id,
        cosine: vector.reduce((sum, number, at) => sum + number * (question[at] ?? 0), 0),
      }));
      expect(embeddings.cosine(31, question)).toBe(0);
      for (const { id, cosine } of cosines) expect(embeddings.cosine(id, question)).toBeCloseTo(cosine, 1);
      const near = embeddings.nearest(question, 5, (id) => id % 2 === 1);
      const wanted = cosines.filter(({ id }) => id % 2 === 1).sort((a, b) => b.cosine - a.cosine);
      expect(near).toHaveLength(Math.min(5, wanted.length));
      for (const [at, { cosine }] of near.entries()) expect(cosine).toBeCloseTo(wanted[at]?.cosine ?? Number.NaN, 1);

      embeddings.save();
      expect(openEmbeddings(openBlobs(database, 'embedding')).nearest(question, 5, (id) => id % 2 === 1)).toEqual(near);
      database.close();
    }),
    { numRuns: 30 },
  );
});
