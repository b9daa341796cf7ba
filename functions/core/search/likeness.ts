import { stemmer as stem } from 'stemmer';
import type { IntentInput } from '../../../schemas/intent.ts';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { stopWords } from './stop-words.ts';
import { firstSentence, plainText, tokenize } from './text.ts';

/** Of a question, at most so many sentences are looked at one by one. */
const maxSentences = 8;

/** A word of fewer would be part of most sentences. */
const minSentenceWords = 3;

/** Verbs that names and questions use for one another. */
const synonyms = [
  'create add post insert new make',
  'list get show retrieve fetch read view display',
  'update put patch edit modify change replace set',
  'delete remove destroy',
];

/** The first of its synonyms, by the stem of each verb. */
const verbs = new Map(
  synonyms.flatMap((line) => {
    const [first = '', ...others] = line.split(' ').map(stem);
    return others.map((verb) => [verb, first] as const);
  }),
);

/** A folded word as a number, which is compared faster. That two words share one (1 in 4 billion) does no harm. */
type Word = number;

/**
 * What questions are compared with, word by word, in one list that is kept as it is: how many words each text has, then the words of the
 * texts. The texts are the name, the slug and the first sentence of the description, each word once, and then the names of service and namespace.
 */
export type Gist = Int32Array;

const textCount = 4;

/** A question in the same form. */
export interface AskedGist {
  /** in which parts of the question each word occurs */
  words: Map<Word, number[]>;
  /** how many words each part has: the question as a whole, then its sentences */
  sizes: number[];
}

/** FNV-1a. */
function numberOf(word: string): Word {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return hash;
}

const partsOf = (text: string): string[] => tokenize(text).flatMap(({ parts }) => parts);

/** A word in the form that names and questions are compared in. */
function foldWord(word: string): string {
  const stemmed = stem(word);
  return verbs.get(stemmed) ?? stemmed;
}

/** `get` is a stop word of questions, but says in a name what an operation does. */
const fold = (words: string[]): string[] => [...new Set(words.filter((word) => word === 'get' || !stopWords.has(word)).map(foldWord))];

/** The question as a whole, and its sentences if there are several. */
export function partsOfQuestion(question: string): string[] {
  const sentences = question
    .split(/(?<=[.?!;])\s+|,? and | also |\n/)
    .filter((part) => part.trim().split(/\s+/).length >= minSentenceWords);
  return sentences.length > 1 ? [question, ...sentences.slice(0, maxSentences)] : [question];
}

export function gistOfQuestion(question: string): AskedGist {
  const parts = partsOfQuestion(question).map((part) => fold(partsOf(part)).map(numberOf));
  const words = new Map<Word, number[]>();
  for (const [at, part] of parts.entries()) for (const word of part) words.set(word, [...(words.get(word) ?? []), at]);
  return { words, sizes: parts.map(({ length }) => length) };
}

export function gistOf(intent: IntentInput, serviceName: string): Gist {
  const { namespace, slug } = splitIntentUid(intent.intent_uid);
  const service = [...new Set([...partsOf(serviceName), ...partsOf(namespace)].map(foldWord))];
  const ownWords = (text: string) => fold(partsOf(text)).filter((word) => !service.includes(word));
  const sentence = fold(partsOf(firstSentence(plainText(intent.description))));
  const texts = [ownWords(intent.intent_name), ownWords(slug), sentence, service];
  return Int32Array.from([...texts.map(({ length }) => length), ...texts.flat().map(numberOf)]);
}

/** Words of a gist: where they begin, and where they end. */
type Span = [start: number, end: number];

/** @param start - where the gist begins in the list */
function spansOf(list: Int32Array, start: number): [name: Span, slug: Span, sentence: Span, service: Span] {
  let from = start + textCount;
  const spanOf = (text: number): Span => {
    const span: Span = [from, from + (list[start + text] as number)];
    from = span[1];
    return span;
  };
  return [spanOf(0), spanOf(1), spanOf(2), spanOf(3)];
}

/**
 * How much of a question and of a text are the same words: the F1 of the best part of the question, from 0 to 1. Words of the service's
 * name count in the question only if the text has them.
 */
function overlap({ words, sizes }: AskedGist, list: Int32Array, text: Span, service: Span): number {
  const length = text[1] - text[0];
  if (length === 0) return 0;
  const common = countParts(words, list, text, sizes.length);
  const spared = countParts(words, list, service, sizes.length, text);
  let best = 0;
  for (let part = 0; part < sizes.length; part++)
    best = Math.max(best, (2 * (common[part] as number)) / ((sizes[part] as number) - (spared[part] as number) + length));
  return best;
}

/** How many of some words each part of a question has, but for those that are left out. */
function countParts(words: AskedGist['words'], list: Int32Array, [start, end]: Span, count: number, left?: Span): number[] {
  const counts = new Array<number>(count).fill(0);
  for (let at = start; at < end; at++) {
    const parts = words.get(list[at] as Word);
    if (parts !== undefined && !(left && isAmong(list, left, list[at] as Word)))
      for (const part of parts) counts[part] = (counts[part] as number) + 1;
  }
  return counts;
}

function isAmong(list: Int32Array, [start, end]: Span, word: Word): boolean {
  for (let at = start; at < end; at++) if (list[at] === word) return true;
  return false;
}

/** What a question and an intent have in common besides the words that BM25 counts. */
export interface Likeness {
  /** how far the name, or the slug, says what the question says: F1, from 0 to 1 */
  name: number;
  /** the same for the first sentence of the description */
  sentence: number;
}

/** @param start - where the gist begins in the list */
export function compare(question: AskedGist, list: Int32Array, start = 0): Likeness {
  const [name, slug, sentence, service] = spansOf(list, start);
  const overlapWith = (text: Span) => overlap(question, list, text, service);
  return { name: Math.max(overlapWith(name), overlapWith(slug)), sentence: overlapWith(sentence) };
}
