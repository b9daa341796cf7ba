import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  addCall,
  bucketAt,
  callableUntilMs,
  clearAtMs,
  emptyWindow,
  freeAtMs,
  longestCountMs,
  remainingCalls,
  removeCall,
  rollTo,
} from '../../../../functions/core/limit/window.ts';

/** Limits, and when calls are asked for: gaps around whole buckets and periods, where mistakes live. */
const histories = fc
  .record({ rate: fc.integer({ min: 1, max: 12 }), period: fc.constantFrom(1, 7, 60, 3_600, 604_800) })
  .chain(({ rate, period }) => {
    const bucketMs = period * 50;
    const gap = fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 4, arbitrary: fc.integer({ min: 0, max: bucketMs }) },
      {
        weight: 2,
        arbitrary: fc.tuple(fc.integer({ min: 1, max: 23 }), fc.integer({ min: -1, max: 1 })).map(([n, off]) => n * bucketMs + off),
      },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 60 * bucketMs }) },
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
          const inShortest = admittedMs.filter((timeMs) => timeMs >= nowMs - period * 1050).length;
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
          expect((admittedMs[index + rate] ?? Number.POSITIVE_INFINITY) - timeMs).toBeGreaterThan(period * 1050);
        }
      }),
      { numRuns: 1_000 },
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
      { numRuns: 300 },
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
    expect(freeAtMs(full, { rate: 1, period: 10 })).toBe(12_500);
  });

  test('a call may be made as long as it counts for the period and half a bucket more', () => {
    const bucket = bucketAt(123_456, 60);
    expect(callableUntilMs(bucket, 60)).toBe(bucket * 3_000 + 4_500);
    expect(clearAtMs(addCall(emptyWindow(bucket)), 60) - callableUntilMs(bucket, 60)).toBe(61_500);
  });

  test('a call is taken back while it counts', () => {
    const window = rollTo(addCall(addCall(emptyWindow(7))), 20);
    expect(removeCall(window, 7)).toEqual(rollTo(addCall(emptyWindow(7)), 20));
    expect(removeCall(rollTo(window, 28), 7)).toMatchObject({ total: 1 });
    const gone = rollTo(window, 29);
    expect(removeCall(gone, 7)).toBe(gone);
  });

  test.each([
    [1, 1_100],
    [60, 66_000],
    [604_800, 665_280_000],
  ])('of %s seconds counts a call for at most %s milliseconds', (period, expected) => {
    expect(longestCountMs(period)).toBe(expected);
  });
});
