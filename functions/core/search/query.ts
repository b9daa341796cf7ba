import { foldTag } from '../../../schemas/text.ts';
import { wordsOf } from './text.ts';

const maxQuestionWords = 100;

const stopWords: ReadonlySet<string> = new Set(
  `a able about actually additionally also am an and any anybody anyone anything are aren as assist at be been being but by can could
  couldn currently d did didn do does doesn doing don find finding for from get give had has have having he hello help her here hers
  hey hi him his how i if in including interested into is isn it its just let like ll looking m many maybe me might more most much must
  my need of off ok okay on one or our out over please possible provide re really s shall she should so some someone something sorry
  specific specifically such sure t tell than thank thanks that the their them then there these they this those to too trying us
  various ve very want was wasn we were what when where which while who whom whose why will with won wondering would wouldn you your
  yours`.split(/\s+/),
);

export const isStopWord = (word: string): boolean => stopWords.has(word);

export function withoutStopWords(words: string[]): string[] {
  const others = words.filter((word) => !isStopWord(word));
  return others.length > 0 ? others : words;
}

/** The distinct words of a question for ranking, in order; at most 100. */
export const questionWords = (question: string): string[] => withoutStopWords([...new Set(wordsOf(question))]).slice(0, maxQuestionWords);

/** Shortest part and longest whole of a compound, in characters. */
const compound = { minPart: 4, maxLength: 40 };

/**
 * The words as texts may spell them: to a word that no text contains, adds the two that it is composed of, as in `timezone`, and what it forms with a
 * neighbour, as in `web hook`.
 */
export function respell(words: readonly string[], isKnown: (word: string) => boolean): string[] {
  const isPart = (part: string) => part.length >= compound.minPart && !isStopWord(part) && isKnown(part);
  const spellings = words.flatMap((word, at) => {
    if (isKnown(word) || word.length > compound.maxLength) return [word];
    const splits = Array.from(word, (_, end) => [word.slice(0, end), word.slice(end)]);
    const joined = [(words[at - 1] ?? '') + word, word + (words[at + 1] ?? '')].filter(isKnown);
    return [word, ...(splits.find((parts) => parts.every(isPart)) ?? []), ...joined];
  });
  return [...new Set(spellings)];
}

/** The distinct tags of a comma-separated list, folded for comparison. */
export const listedTags = (list: string): string[] => [...new Set(list.split(',').map(foldTag))].filter((tag) => tag !== '');
