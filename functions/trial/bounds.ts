import { addCall, emptyWindow, liveBuckets, rollTo, slotOf, type Window } from '../core/limit/window.ts';
import type { Charge } from '../core/policy/limits.ts';

/**
 * Bounds of a limit's count, whatever became of the calls that could not be decided: each bucket counts from `least` to `most`, and each bucket
 * together with all newer ones from `sure` to `possible`. The total therefore stays within the latter two as buckets expire.
 */
export interface Bounds {
  least: Window;
  most: Window;
  sure: Window;
  possible: Window;
}

export function rollBounds(bounds: Bounds | undefined, bucket: number): Bounds {
  const none = emptyWindow(bucket);
  const { least, most, sure, possible } = bounds ?? { least: none, most: none, sure: none, possible: none };
  return { least: rollTo(least, bucket), most: rollTo(most, bucket), sure: rollTo(sure, bucket), possible: rollTo(possible, bucket) };
}

/**
 * Counts a call that may have been made, in the newest bucket. If it was made, at most `rate` counts with it, so the newer buckets count at most
 * what the `least` of the older ones leaves. If the limit refused it, more than `rate - cost` counted before, so the newer buckets count at least
 * what the `most` of the older ones lacks.
 * @param charge - with the highest possible cost
 * @param sureCost - the lowest possible cost; 0 if the call may not have been made for a reason other than this limit
 * @param isDoubtful - whether the limit may have refused it
 */
export function addBetween(bounds: Bounds, { rate, cost }: Charge, sureCost: number, isDoubtful: boolean): Bounds {
  const { least, most, sure, possible } = bounds;
  const between = (value: number, highest: number): number => Math.max(0, Math.min(value, highest));
  return {
    least: isDoubtful ? least : addCall(least, sureCost),
    most: addCall(most, cost),
    sure: raise(sure, most, (newer, older) => (isDoubtful ? between(rate - cost + 1 - older - newer, sureCost) : sureCost)),
    possible: raise(possible, least, (newer, older) => between(rate - older - newer, cost)),
  };
}

/** Adds to the sum of each bucket and all newer ones; `by` is given that sum, and that of the older buckets of another window. */
function raise(window: Window, other: Window, by: (newer: number, older: number) => number): Window {
  const counts = [...window.counts];
  let [newer, older, added] = [0, other.total, 0];
  for (let bucket = window.bucket; bucket > window.bucket - liveBuckets; bucket--) {
    const [slot, before] = [slotOf(bucket), added];
    newer += window.counts[slot] ?? 0;
    older -= other.counts[slot] ?? 0;
    added = by(newer, older);
    counts[slot] = (window.counts[slot] ?? 0) + added - before;
  }
  return { ...window, counts, total: window.total + added };
}
