import { liveBuckets } from './window.ts';

/** Decimal digits that a double represents exactly. */
const numberDigits = 15;

/** Supported widths of a count in digits. Each gives a different length of the packed list. */
const widths = [1, 2, 3, 5, 16];

const countsIn = (digits: number): number => Math.max(1, Math.floor(numberDigits / digits));

export const digitsFor = (most: number): number => widths.find((digits) => String(most).length <= digits) ?? 16;

export const digitsIn = (packed: readonly number[]): number =>
  widths.find((digits) => Math.ceil(liveBuckets / countsIn(digits)) === packed.length) ?? 16;

/** The position of a slot in a packed list: the index of the number that holds it, and the value of 1 there. */
export function positionOf(slot: number, digits: number): { at: number; unit: number } {
  const several = countsIn(digits);
  return { at: Math.floor(slot / several), unit: 10 ** (digits * (slot % several)) };
}

/**
 * Packs several counts into each number. The table stores decimal digits, so 22 counts of up to two digits take 38 bytes instead of 66, and an
 * update can still add to each count.
 */
export function packCounts(counts: readonly number[], digits: number): number[] {
  const packed = new Array<number>(Math.ceil(counts.length / countsIn(digits))).fill(0);
  for (const [slot, count] of counts.entries()) {
    const { at, unit } = positionOf(slot, digits);
    packed[at] = (packed[at] ?? 0) + count * unit;
  }
  return packed;
}

export function unpackCounts(packed: readonly number[]): number[] {
  const digits = digitsIn(packed);
  return Array.from({ length: liveBuckets }, (_, slot) => {
    const { at, unit } = positionOf(slot, digits);
    const above = Math.floor((packed[at] ?? 0) / unit);
    return digits === 16 ? above : above % 10 ** digits;
  });
}
