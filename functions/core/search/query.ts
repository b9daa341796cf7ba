import { stopWords } from './stop-words.ts';
import { tokenize, wordsOf } from './text.ts';

/** Of a longer text, the words that come first are taken for the question. */
const maxQuestionWords = 100;

/**
 * The words that a question is ranked by, each once, in their order. Stop words count only where there is nothing else:
 * whoever asks for "who" means it. A text without letters and digits has no words, and finds nothing.
 */
export function questionWords(question: string): string[] {
  const words = [...new Set(wordsOf(question))];
  const telling = words.filter((word) => !stopWords.has(word));
  return (telling.length > 0 ? telling : words).slice(0, maxQuestionWords);
}

/** A word as an FTS5 string: what the caller wrote is never syntax. Words hold letters and digits alone. */
const quote = (word: string): string => `"${word}"`;

export const matchAny = (words: readonly string[]): string => words.map(quote).join(' OR ');

/**
 * The FTS5 expression for "every word of the text occurs in the column as a word or the beginning of one". A piece in camelCase
 * may occur as a whole as well, so that `GitHub` finds `github`.
 * @returns undefined where the text has no words
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

/** The tags of a comma-separated list, folded for comparison. */
export const listedTags = (list: string): string[] => [
  ...new Set(
    list
      .split(',')
      .map(foldTag)
      .filter((tag) => tag !== ''),
  ),
];

/** How tags and namespaces are compared: ignoring case and surrounding white space. */
export const foldTag = (tag: string): string => tag.normalize('NFC').trim().toLowerCase();
