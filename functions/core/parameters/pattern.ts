import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

/** Loads the engine with the first pattern: many intents have none, and loading would delay every cold start. */
const load = createRequire(import.meta.url);

/** Maximum size of a compiled pattern. Matching time is proportional to the size times the length of the text. */
const maxProgramSize = 2500;

/** Maximum length of a pattern with its repetitions written out, in atoms: compiling a longer one would take seconds. */
const maxWrittenLength = 10_000;

/** Longest text that is matched, in UTF-16 units. */
export const maxMatchedLength = 16_384;

/** Work budget for all patterns of one request, about a sixth of a second. Work is the size of a pattern times the length of the text. */
const maxWork = 16_000_000;

export interface Pattern {
  matches(text: string): boolean;
  /** work per UTF-16 unit of a text */
  size: number;
}

export interface MatchingBudget {
  /** @returns false if not enough work is left */
  spend(work: number): boolean;
}

export function openMatchingBudget(): MatchingBudget {
  let left = maxWork;
  return {
    spend(work) {
      left -= work;
      return left >= 0;
    },
  };
}

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/**
 * Compiles a pattern for RE2, which matches any text in linear time. The pattern matches anywhere in the text, as in JSON Schema. It must also
 * be valid ECMAScript, because RE2 accepts some syntax that has no meaning in JSON Schema. Two details differ from ECMAScript: `.` excludes only
 * the line feed, and `\s` is ASCII white space.
 * @throws PatternError whose message ends the sentence "the pattern ..."
 */
export function compilePattern(source: string): Pattern {
  try {
    new RegExp(source, 'u');
  } catch (cause) {
    throw new PatternError('must be a regular expression as ECMAScript defines it, with the flag u', { cause });
  }
  if (countAtoms(source) > maxWrittenLength) throw new PatternError(tooLarge);
  const compiled = compileLinear(source);
  if (compiled.programSize() > maxProgramSize) throw new PatternError(tooLarge);
  return { matches: (text) => compiled.test(text), size: compiled.programSize() };
}

const tooLarge = 'is too large when its repetitions are written out; use smaller counts or minLength and maxLength';

const needed =
  'must be one that RE2 can match in linear time: no back-references, no look-around, counts of at most 1000 (nested ones multiplied), no surrogate pairs as escapes';

/** Patterns that RE2JS would misinterpret: named back-references, and characters escaped as surrogate pairs. */
const misread = /(?:^|[^\\])(?:\\\\)*\\(?:k|u[dD][89a-fA-F])/;

function compileLinear(source: string): RE2JS {
  if (misread.test(source)) throw new PatternError(needed);
  const re2js: typeof import('re2js') = load('re2js');
  try {
    return re2js.RE2JS.compile(re2js.RE2JS.translateRegExp(source));
  } catch (cause) {
    throw new PatternError(needed, { cause });
  }
}

/** The elements of a valid pattern: escapes, classes, group openings, counted repetitions and single characters. */
const lexeme =
  /\\(?:[pPu]\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<\w+>|[a-z-]*:))?|\{(\d+),?(\d*)\}|./gisu;

/** Number of characters and classes in a valid pattern with its repetitions written out. */
export function countAtoms(source: string): number {
  const groups = [0];
  let repeatable = 0;
  const add = (count: number) => groups.push((groups.pop() ?? 0) + count);
  for (const [text, min, max] of source.matchAll(lexeme)) {
    if (text.startsWith('(')) groups.push(0);
    else if (text === ')') {
      repeatable = groups.pop() ?? 0;
      add(repeatable);
    } else if (min !== undefined) {
      const times = Math.max(Number(min), Number(max), 1);
      add(repeatable * (times - 1));
    } else if (!/^[*+?|^$]$/.test(text)) {
      repeatable = 1;
      add(1);
    }
  }
  return groups[0] ?? 0;
}
