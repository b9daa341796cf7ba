import type { IntentEndpoint, IntentInput } from '../../../schemas/intent.ts';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { type Deed, findDeed, foldWord } from './deed.ts';
import { stopWords } from './stop-words.ts';
import { firstSentence, plainText, tokenize } from './text.ts';

/** Of a question, at most so many sentences are looked at one by one. */
const maxSentences = 8;

/** A word of fewer would be part of most sentences. */
const minSentenceWords = 3;

/** Beginnings of questions that want to know something. */
const asks = /^\W*(?:what|whats|who|whose|which|where|when|how|why|is|are|was|were|do|does|did|has|have|tell|give)\b/i;

/** The deeds that HTTP methods stand for. POST is used for all of them. */
const deedOfMethod: Partial<Record<IntentEndpoint['method'], Deed>> = { GET: 'read', PUT: 'update', PATCH: 'update', DELETE: 'delete' };

/** What questions are compared with, word by word. */
export interface Gist {
  /** of name, slug, and the first sentence of the description: folded words, each once */
  texts: string[][];
  /** folded words of the service's name and of the namespace */
  service: string[];
  verb?: string;
  deed?: Deed;
}

/** A question in the same form. */
export interface AskedGist {
  /** folded words, and in which parts they occur */
  words: Map<string, number[]>;
  /** how many words each part has: the question as a whole, then its sentences */
  sizes: number[];
  verb?: string;
  deed?: Deed;
}

const partsOf = (text: string): string[] => tokenize(text).flatMap(({ parts }) => parts);

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
  const parts = partsOfQuestion(question).map((part) => fold(partsOf(part)));
  const words = new Map<string, number[]>();
  for (const [at, part] of parts.entries()) for (const word of part) words.set(word, [...(words.get(word) ?? []), at]);
  const done = asks.test(question) ? { verb: '', deed: 'read' as const } : findDeed(partsOf(question));
  return { words, sizes: parts.map(({ length }) => length), ...done };
}

export function gistOf(intent: IntentInput, serviceName: string): Gist {
  const { namespace, slug } = splitIntentUid(intent.intent_uid);
  const service = [...new Set([...partsOf(serviceName), ...partsOf(namespace)].map(foldWord))];
  const [name, slugWords] = [partsOf(intent.intent_name), partsOf(slug)];
  const ownWords = (words: string[]) => fold(words).filter((word) => !service.includes(word));
  const done = findDeed(name) ?? findDeed(slugWords);
  const deed = done?.deed ?? deedOfMethod[intent.endpoint.method];
  return {
    texts: [ownWords(name), ownWords(slugWords), fold(partsOf(firstSentence(plainText(intent.description))))],
    service,
    ...(done && { verb: done.verb }),
    ...(deed && { deed }),
  };
}

/** The gist as the index keeps it. */
export const writeGist = ({ texts, service, verb = '', deed }: Gist): string =>
  [...[...texts, service].map((words) => words.join(' ')), verb, deed ?? ''].join('|');

const deeds: readonly string[] = ['create', 'read', 'update', 'delete'] satisfies Deed[];
const isDeed = (text: string): text is Deed => deeds.includes(text);

export function readGist(text: string): Gist {
  const [name = '', slug = '', sentence = '', service = '', verb = '', deed = ''] = text.split('|');
  const wordsIn = (words: string) => (words === '' ? [] : words.split(' '));
  return {
    texts: [name, slug, sentence].map(wordsIn),
    service: wordsIn(service),
    ...(verb !== '' && { verb }),
    ...(isDeed(deed) && { deed }),
  };
}

/**
 * How much of a question and of a text are the same words: the F1 of the best part of the question, from 0 to 1. Words of the service's
 * name count in the question only if the text has them.
 */
function overlap({ words, sizes }: AskedGist, text: readonly string[], service: readonly string[]): number {
  if (text.length === 0) return 0;
  const common = sizes.map(() => 0);
  const spared = sizes.map(() => 0);
  for (const word of text) for (const part of words.get(word) ?? []) common[part] = (common[part] ?? 0) + 1;
  for (const word of service) {
    if (text.includes(word)) continue;
    for (const part of words.get(word) ?? []) spared[part] = (spared[part] ?? 0) + 1;
  }
  const best = sizes.map((size, part) => (2 * (common[part] ?? 0)) / (size - (spared[part] ?? 0) + text.length));
  return Math.max(...best);
}

/** What a question and an intent have in common besides the words that BM25 counts. */
export interface Likeness {
  /** how far the name, or the slug, says what the question says: F1, from 0 to 1 */
  name: number;
  /** the same for the first sentence of the description */
  sentence: number;
  /** whether both do the same: 1, and 1.25 by the same verb; -1 if not; 0 if one of them does not tell */
  deed: number;
}

export function compare(question: AskedGist, { texts, service, verb, deed }: Gist): Likeness {
  const [name = 0, slug = 0, sentence = 0] = texts.map((text) => overlap(question, text, service));
  const isSame = question.deed === deed;
  return {
    name: Math.max(name, slug),
    sentence,
    deed: question.deed === undefined || deed === undefined ? 0 : isSame ? (question.verb === verb ? 1.25 : 1) : -1,
  };
}
