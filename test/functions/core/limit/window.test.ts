import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  addCall,
  bucketAt,
  bucketMs,
  callableUntilMs,
  clearAtMs,
  emptyWindow,
  freeAtMs,
  longestCountMs,
  madeWithinMs,
  remainingCalls,
  removeCall,
  rollTo,
} from '../../../../functions/core/limit/window.ts';

/** Limits, and calls at intervals around whole buckets and periods, where mistakes are likely. */
const histories = fc
  .record({ rate: fc.integer({ min: 1, max: 12 }), period: fc.constantFrom(1, 7, 60, 3_600, 604_800) })
  .chain(({ rate, period }) => {
    const lengthMs = bucketMs(period);
    const liveBuckets = longestCountMs(period) / lengthMs;
    const gap = fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 4, arbitrary: fc.integer({ min: 0, max: lengthMs }) },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.integer({ min: 1, max: liveBuckets + 1 }), fc.integer({ min: -1, max: 1 }))
          .map(([n, off]) => n * lengthMs + off),
      },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 * longestCountMs(period) }) },
    );
    return fc.record({
      limit: fc.constant({ rate, period }),
      startMs: fc.integer({ min: 0, max: 4e12 }),
      gapsMs: fc.array(gap, { minLength: 1, maxLength: 120 }),
    });
  });

describe('a window', () => {
  test('a window agrees with an ideal sliding log over random histories', () => {
    fc.assert(
      fc.property(histories, ({ limit, startMs, gapsMs }) => {
        const { rate, period } = limit;
        const shortestCountMs = longestCountMs(period) - bucketMs(period);
        const admittedMs: number[] = [];
        let window = emptyWindow(bucketAt(startMs, period));
        let nowMs = startMs;
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          window = rollTo(window, bucketAt(nowMs, period));
          const inShortest = admittedMs.filter((timeMs) => timeMs >= nowMs - shortestCountMs).length;
          const inLongest = admittedMs.filter((timeMs) => timeMs > nowMs - longestCountMs(period)).length;
          expect(window.total).toBeGreaterThanOrEqual(inShortest);
          expect(window.total).toBeLessThanOrEqual(inLongest);
          expect(window.total).toBe(window.counts.reduce((sum, count) => sum + count, 0));
          expect(remainingCalls(window, limit)).toBe(rate - window.total);
          if (window.total < rate) {
            window = addCall(window);
            admittedMs.push(nowMs);
          }
        }
        for (const [index, timeMs] of admittedMs.entries()) {
          expect((admittedMs[index + rate] ?? Number.POSITIVE_INFINITY) - timeMs).toBeGreaterThan(shortestCountMs);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('a window knows to the millisecond when more calls will fit', () => {
    fc.assert(
      fc.property(histories, ({ limit, startMs, gapsMs }) => {
        const { rate, period } = limit;
        let nowMs = startMs;
        let window = emptyWindow(bucketAt(nowMs, period));
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          window = rollTo(window, bucketAt(nowMs, period));
          if (window.total < rate) window = addCall(window);
          const freeMs = freeAtMs(window, limit);
          const at = (timeMs: number) => remainingCalls(rollTo(window, bucketAt(timeMs, period)), limit);
          expect(freeMs).toBeGreaterThan(nowMs);
          expect(freeMs).toBeLessThanOrEqual(nowMs + longestCountMs(period));
          expect(at(freeMs - 1)).toBe(at(nowMs));
          expect(at(freeMs)).toBeGreaterThan(at(nowMs));
          expect(at(clearAtMs(window, period))).toBe(rate);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a window never goes back', () => {
    const window = addCall(emptyWindow(100));
    expect(rollTo(window, 99)).toBe(window);
    expect(rollTo(window, 100)).toBe(window);
  });

  test('a window knows when the next call will fit after the rate was lowered below the current count', () => {
    const full = rollTo(addCall(addCall(rollTo(addCall(emptyWindow(0)), 3))), 5);
    expect(full.total).toBe(3);
    expect(freeAtMs(full, { rate: 3, period: 10 })).toBe(longestCountMs(10));
    expect(freeAtMs(full, { rate: 1, period: 10 })).toBe(longestCountMs(10) + 3 * bucketMs(10));
  });

  test.each([1, 60, 604_800])('a window of %s seconds counts a call for the whole period if it is sent in time', (period) => {
    const bucket = bucketAt(123_456_789, period);
    const madeMs = callableUntilMs(bucket, period) + madeWithinMs(period);
    expect(madeWithinMs(period)).toBeGreaterThan(0);
    expect(callableUntilMs(bucket, period)).toBeGreaterThan((bucket + 1) * bucketMs(period));
    expect(clearAtMs(addCall(emptyWindow(bucket)), period) - madeMs).toBe(period * 1000);
  });

  test('a window forgets a call that is removed while it counts', () => {
    const last = 7 + longestCountMs(60) / bucketMs(60) - 1;
    const window = rollTo(addCall(addCall(emptyWindow(7))), 20);
    expect(removeCall(window, 7)).toEqual(rollTo(addCall(emptyWindow(7)), 20));
    expect(removeCall(rollTo(window, last), 7)).toMatchObject({ total: 1 });
    const gone = rollTo(window, last + 1);
    expect(removeCall(gone, 7)).toBe(gone);
  });

  test.each([1, 60, 604_800])('a window of %s seconds counts a call for at most a tenth longer', (period) => {
    expect(longestCountMs(period)).toBeGreaterThan(period * 1000);
    expect(longestCountMs(period)).toBeLessThanOrEqual(period * 1100);
  });
});
