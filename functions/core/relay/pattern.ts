import { RE2JS } from 're2js';

/** Greatest size of a compiled pattern. Matching takes time proportional to this times the length of the text. */
const greatestProgramSize = 1000;

/** Longest text that a pattern is tried on, in UTF-16 units: with the bound above, about a tenth of a second at worst. */
export const greatestMatchedLength = 16_384;

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/**
 * Compiles a pattern for an engine that takes linear time whatever the text (RE2). It matches anywhere in the text, as in JSON Schema.
 * The pattern must also be ECMAScript, since RE2 reads a few spellings that nobody who writes JSON Schema means.
 * Two things differ from ECMAScript: `.` leaves out the line feed alone, and `\s` is white space of ASCII.
 * @throws PatternError whose message ends the sentence "the pattern ..."
 */
export function compilePattern(source: string): (text: string) => boolean {
  try {
    new RegExp(source, 'u');
  } catch (cause) {
    throw new PatternError('must be a regular expression as ECMAScript defines it, with the flag u', { cause });
  }
  const compiled = compileLinear(source);
  if (compiled.programSize() > greatestProgramSize) {
    throw new PatternError('is too large when its repetitions are written out; use smaller counts or minLength and maxLength');
  }
  return (text) => compiled.test(text);
}

const needed =
  'must be one that RE2 can match in linear time: no back-references, no look-around, counts of at most 1000, no surrogate pairs as escapes';

/** What RE2JS would take for something else instead of refusing it: named back-references, and characters written as two surrogates. */
const misread = /(?:^|[^\\])(?:\\\\)*\\(?:k|u[dD][89a-fA-F])/;

function compileLinear(source: string): RE2JS {
  if (misread.test(source)) throw new PatternError(needed);
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (cause) {
    throw new PatternError(needed, { cause });
  }
}
