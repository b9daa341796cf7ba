import { foldTag } from '../../../schemas/text.ts';
import { stopWords } from './stop-words.ts';
import { wordsOf } from './text.ts';

/** Of a longer question, only the first words are used. */
const maxQuestionWords = 100;

/**
 * The words that a question is ranked by, each once, in their order. Stop words count only if there are no others:
 * a question that says nothing but "who" means it. A text without letters and digits has no words, and finds nothing.
 */
export function questionWords(question: string): string[] {
  const words = [...new Set(wordsOf(question))];
  const telling = words.filter((word) => !stopWords.has(word));
  return (telling.length > 0 ? telling : words).slice(0, maxQuestionWords);
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
