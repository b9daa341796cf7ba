import type { Issue } from '../../../schemas/errors.ts';
import type { Cut } from './cut.ts';

/** Longest value of a header field, in bytes. */
const maxFieldBytes = 1_024;

/** A JSON pointer in visible ASCII: all other characters, commas and quotation marks are percent-encoded, as is the percent sign. */
const toField = (pointer: string): string => pointer.replace(/[^\x21-\x24\x26-\x2b\x2d-\x7e]|["\\]/gu, encodeURIComponent);

/** `Answer-Issues`: JSON pointers to what does not match the output_parameters, separated by commas; `...` if there are more than fit. */
export function describeIssues(issues: readonly Issue[]): { 'Answer-Issues': string } {
  const pointers = [...new Set(issues.map(({ path }) => toField(path)))];
  let field = pointers.join(', ');
  for (let count = pointers.length - 1; field.length > maxFieldBytes; count--) field = [...pointers.slice(0, count), '...'].join(', ');
  return { 'Answer-Issues': field };
}

/** `Answer-Cut`: where an answer was cut, and how many items or members there are in all (a dictionary of RFC 9651). */
export const describeCut = ({ at, total }: Cut): { 'Answer-Cut': string } => ({ 'Answer-Cut': `at="${toField(at)}", total=${total}` });
