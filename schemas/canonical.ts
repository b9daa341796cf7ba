import { createHash } from 'node:crypto';
import { canonicalNumber, isNumeric } from './number.ts';

/**
 * The canonical form of a JSON value (RFC 8785): equal values have equal texts. A number that IEEE 754 double precision cannot hold, for which RFC 8785
 * has no form, is written with all of its digits, so that different numbers never have the same text. Empty for undefined.
 */
export function canonicalText(value: unknown): string {
  if (isNumeric(value)) return canonicalNumber(value);
  if (Array.isArray(value)) return `[${value.map((element) => canonicalText(element) || 'null').join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  // RFC 8785 section 3.2.3 orders names by UTF-16 code units, as sort() does
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([left], [right]) => Number(left > right) - Number(left < right));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`).join(',')}}`;
}

/** SHA-256 of the canonical form, base64url. */
export const canonicalDigest = (value: unknown): string => createHash('sha256').update(canonicalText(value)).digest('base64url');
