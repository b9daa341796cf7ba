import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  addCall,
  bucketAt,
  clearAtMs,
  emptyWindow,
  freeAtMs,
  longestCountMs,
  remainingCalls,
  rollTo,
} from '../../../../functions/core/limit/window.ts';

/** Limits, and when calls are asked for: gaps around whole buckets and periods, where mistakes live. */
const histories = fc
  .record({ rate: fc.integer({ min: 1, max: 12 }), period: fc.constantFrom(1, 7, 60, 3_600, 604_800) })
  .chain(({ rate, period }) => {
    const bucketMs = period * 100;
    const gap = fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 4, arbitrary: fc.integer({ min: 0, max: bucketMs }) },
      {
        weight: 2,
        arbitrary: fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: -1, max: 1 })).map(([n, off]) => n * bucketMs + off),
      },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 30 * bucketMs }) },
    );
    return fc.record({
      limit: fc.constant({ rate, period }),
      startMs: fc.integer({ min: 0, max: 4e12 }),
      gapsMs: fc.array(gap, { minLength: 1, maxLength: 120 }),
    });
  });

describe('a window', () => {
  test('agrees with an ideal sliding log over random histories', () => {
    fc.assert(
      fc.property(histories, ({ limit, startMs, gapsMs }) => {
        const { rate, period } = limit;
        const admittedMs: number[] = [];
        let window = emptyWindow(bucketAt(startMs, period));
        let nowMs = startMs;
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          window = rollTo(window, bucketAt(nowMs, period));
          const inPeriod = admittedMs.filter((timeMs) => timeMs >= nowMs - period * 1000).length;
          const inLongest = admittedMs.filter((timeMs) => timeMs > nowMs - longestCountMs(period)).length;
          expect(window.total).toBeGreaterThanOrEqual(inPeriod);
          expect(window.total).toBeLessThanOrEqual(inLongest);
          expect(window.total).toBe(window.counts.reduce((sum, count) => sum + count, 0));
          expect(remainingCalls(window, limit)).toBe(rate - window.total);
          if (window.total < rate) {
            window = addCall(window);
            admittedMs.push(nowMs);
          }
        }
        for (const [index, timeMs] of admittedMs.entries()) {
          expect((admittedMs[index + rate] ?? Number.POSITIVE_INFINITY) - timeMs).toBeGreaterThan(period * 1000);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('says to the millisecond when more is free', () => {
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
      { numRuns: 500 },
    );
  });

  test('never goes back', () => {
    const window = addCall(emptyWindow(100));
    expect(rollTo(window, 99)).toBe(window);
    expect(rollTo(window, 100)).toBe(window);
  });

  test('says when the next call is free where the rate has been lowered below what counts', () => {
    const full = rollTo(addCall(addCall(rollTo(addCall(emptyWindow(0)), 3))), 5);
    expect(full.total).toBe(3);
    expect(freeAtMs(full, { rate: 3, period: 10 })).toBe(11_000);
    expect(freeAtMs(full, { rate: 1, period: 10 })).toBe(14_000);
  });

  test.each([
    [1, 1_100],
    [60, 66_000],
    [604_800, 665_280_000],
  ])('of %s seconds counts a call for at most %s milliseconds', (period, expected) => {
    expect(longestCountMs(period)).toBe(expected);
  });
});
