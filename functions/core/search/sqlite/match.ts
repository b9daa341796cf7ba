import { tokenize } from '../text.ts';

/** A word as an FTS5 string: what the caller wrote is never syntax. Words hold letters and digits alone. */
const quote = (word: string): string => `"${word}"`;

/**
 * The FTS5 expression for "every word of the text occurs in the column as a word or the beginning of one". A piece in camelCase
 * may occur as a whole as well, so that `GitHub` finds `github`.
 * @returns undefined if the text has no words
 */
export function matchEvery(column: string, text: string): string | undefined {
  const tokens = tokenize(text);
  if (tokens.length === 0) return undefined;
  const prefixes = (words: string[]) => words.map((word) => `${quote(word)} *`).join(' AND ');
  const alternatives = tokens.map(({ whole, parts }) =>
    parts.length > 1 ? `(${prefixes([whole])} OR (${prefixes(parts)}))` : prefixes([whole]),
  );
  return `${column} : (${[...new Set(alternatives)].join(' AND ')})`;
}
