import type { Issue } from '../../../schemas/errors.ts';
import type { Cut } from './cut.ts';

/** Longest value of a header field, in bytes. */
const maxFieldBytes = 1_024;

/** A JSON pointer in visible ASCII. Other characters, commas, quotation marks and percent signs are percent-encoded. */
const toField = (pointer: string): string => pointer.replace(/[^\x21-\x24\x26-\x2b\x2d-\x7e]|["\\]/gu, encodeURIComponent);

/** `Answer-Issues`: JSON pointers to mismatches with the output_parameters, separated by commas; ends with `...` if some do not fit. */
export function describeIssues(issues: readonly Issue[]): { 'Answer-Issues': string } {
  const pointers = [...new Set(issues.map(({ path }) => toField(path)))];
  let field = pointers.join(', ');
  for (let count = pointers.length - 1; field.length > maxFieldBytes; count--) field = [...pointers.slice(0, count), '...'].join(', ');
  return { 'Answer-Issues': field };
}

/** `Answer-Cut`: where an answer was cut, and the total number of items or members (a dictionary of RFC 9651). */
export const describeCut = ({ at, total }: Cut): { 'Answer-Cut': string } => ({ 'Answer-Cut': `at="${toField(at)}", total=${total}` });
