import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { selectTopK } from '../../../../../functions/core/search/sqlite/top-k.ts';

test('the selection finds at least the greatest values, and of equal values all or none', () => {
  const value = fc.oneof(fc.constantFrom(0, 1, 2), fc.float({ min: -1, max: 9, noNaN: true }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 300 }), fc.integer({ min: 0, max: 320 }), (list, wanted) => {
      const values = Float32Array.from(list);
      const found = new Set(selectTopK(values, wanted));
      expect(found.size).toBeGreaterThanOrEqual(Math.min(wanted, list.length));
      const least = Math.min(...[...found].map((at) => values[at] as number));
      for (const [at, value] of values.entries()) expect(found.has(at)).toBe(value >= least);
    }),
  );
});
