import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { digitsFor, digitsIn, packCounts, positionOf, unpackCounts } from '../../../../functions/core/limit/packed-counts.ts';
import { liveBuckets } from '../../../../functions/core/limit/window.ts';

const mosts = [1, 9, 10, 100_000, Number.MAX_SAFE_INTEGER];

test.each(mosts)('counts of at most %d are packed without loss, and each can be added to where it is', (most) => {
  const digits = digitsFor(most);
  const counts = fc.array(fc.integer({ min: 0, max: most - 1 }), { minLength: liveBuckets, maxLength: liveBuckets });
  fc.assert(
    fc.property(counts, fc.nat(liveBuckets - 1), (list, slot) => {
      const packed = packCounts(list, digits);
      expect(digitsIn(packed)).toBe(digits);
      expect(packed.every(Number.isSafeInteger)).toBe(true);
      expect(unpackCounts(packed)).toEqual(list);
      const { at, unit } = positionOf(slot, digits);
      packed[at] = (packed[at] ?? 0) + unit;
      expect(unpackCounts(packed)).toEqual(list.with(slot, (list[slot] ?? 0) + 1));
    }),
  );
});
