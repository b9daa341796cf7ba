import { liveBuckets } from './window.ts';

/** How many decimal digits a number has that holds whole counts without loss. */
const numberDigits = 15;

/** How many digits a count may have: as few as possible, and so that a packed list tells by its length how many it has. */
const widths = [1, 2, 3, 5, 16];

/** How many counts of so many digits are in one number. */
const countsIn = (digits: number): number => Math.max(1, Math.floor(numberDigits / digits));

/** How many digits the counts of a window have that are at most `most`. */
export const digitsFor = (most: number): number => widths.find((digits) => String(most).length <= digits) ?? 16;

/** How many digits the counts of a packed list have. */
export const digitsIn = (packed: readonly number[]): number =>
  widths.find((digits) => Math.ceil(liveBuckets / countsIn(digits)) === packed.length) ?? 16;

/** Where the count of a slot is in a packed list: in which number, and what one is there. */
export function placeOf(slot: number, digits: number): { at: number; unit: number } {
  const several = countsIn(digits);
  return { at: Math.floor(slot / several), unit: 10 ** (digits * (slot % several)) };
}

/**
 * Several counts in each number, which the table stores as its decimal digits: 22 counts of up to two digits take 38 bytes instead of 66, and
 * an update can still add to each of them.
 */
export function packCounts(counts: readonly number[], digits: number): number[] {
  const packed = new Array<number>(Math.ceil(counts.length / countsIn(digits))).fill(0);
  for (const [slot, count] of counts.entries()) {
    const { at, unit } = placeOf(slot, digits);
    packed[at] = (packed[at] ?? 0) + count * unit;
  }
  return packed;
}

export function unpackCounts(packed: readonly number[]): number[] {
  const digits = digitsIn(packed);
  return Array.from({ length: liveBuckets }, (_, slot) => {
    const { at, unit } = placeOf(slot, digits);
    const above = Math.floor((packed[at] ?? 0) / unit);
    return digits === 16 ? above : above % 10 ** digits;
  });
}
