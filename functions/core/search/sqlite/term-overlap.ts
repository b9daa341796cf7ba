import { stemmer as stem } from 'stemmer';
import type { IntentInput } from '../../../../schemas/intent.ts';
import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import { isStopWord } from '../query.ts';
import type { Features } from '../ranking-weights.ts';
import { firstSentence, plainText, tokenize } from '../text.ts';
import type { Blobs } from './database.ts';

const maxSentences = 8;

/** Minimum length of a sentence, in words; most names would contain a shorter one. */
const minSentenceWords = 3;

/** Verbs that names and questions use interchangeably; the first represents the group. */
const synonyms = [
  'create add post insert new make',
  'list get show retrieve fetch read view display',
  'update put patch edit modify change replace set',
  'delete remove destroy',
];

const verbs = new Map(
  synonyms.flatMap((line) => {
    const [first = '', ...others] = line.split(' ').map(stem);
    return others.map((verb) => [verb, first] as const);
  }),
);

/**
 * The terms of an intent as hashes, for speed and compactness: the number of terms in each text (name, slug, first sentence, and the names of
 * service and namespace), then the hashed terms of these texts.
 */
export type TermHashes = Int32Array;

const textCount = 4;

interface QuestionTerms {
  /** indexes of the parts that contain each term, by its hash */
  partsOf: Map<number, number[]>;
  sizes: number[];
}

/** 32-bit FNV-1a. */
function hash(word: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) value = Math.imul(value ^ word.charCodeAt(at), 0x01000193);
  return value;
}

const wordsIn = (text: string): string[] => tokenize(text).flatMap(({ parts }) => parts);

function toTerm(word: string): string {
  const stemmed = stem(word);
  return verbs.get(stemmed) ?? stemmed;
}

/** The distinct terms of a text. Keeps the stop word `get`: in a name, it says what the operation does. */
const termsIn = (text: string): string[] => [
  ...new Set(
    wordsIn(text)
      .filter((word) => word === 'get' || !isStopWord(word))
      .map(toTerm),
  ),
];

/** The whole question, followed by its sentences if there are several. */
export function splitQuestion(question: string): string[] {
  const sentences = question
    .split(/(?<=[.?!;])\s+|,? and | also |\n/)
    .filter((part) => part.trim().split(/\s+/).length >= minSentenceWords);
  return sentences.length > 1 ? [question, ...sentences.slice(0, maxSentences)] : [question];
}

export function hashQuestion(question: string): QuestionTerms {
  const parts = splitQuestion(question).map((part) => termsIn(part).map(hash));
  const partsOf: QuestionTerms['partsOf'] = new Map();
  for (const [at, part] of parts.entries()) for (const term of part) partsOf.set(term, [...(partsOf.get(term) ?? []), at]);
  return { partsOf, sizes: parts.map(({ length }) => length) };
}

export function hashIntent(intent: IntentInput, serviceName: string): TermHashes {
  const { namespace, slug } = splitIntentUid(intent.intent_uid);
  const service = [...new Set([...wordsIn(serviceName), ...wordsIn(namespace)].map(toTerm))];
  const withoutService = (text: string) => termsIn(text).filter((term) => !service.includes(term));
  const sentence = termsIn(firstSentence(plainText(intent.description)));
  const texts = [withoutService(intent.intent_name), withoutService(slug), sentence, service];
  return Int32Array.from([...texts.map(({ length }) => length), ...texts.flat().map(hash)]);
}

/**
 * The F1 of the terms of a text and of the best-matching part of a question. Terms of the service's name count in the question only if the
 * text contains them, too.
 */
function overlap({ partsOf, sizes }: QuestionTerms, text: Int32Array, service: Int32Array): number {
  if (text.length === 0) return 0;
  const common = new Array<number>(sizes.length).fill(0);
  const ignored = new Array<number>(sizes.length).fill(0);
  const countParts = (counts: number[], term: number) => {
    for (const part of partsOf.get(term) ?? []) (counts[part] as number)++;
  };
  for (const term of text) countParts(common, term);
  for (const term of service) if (!text.includes(term)) countParts(ignored, term);
  return Math.max(...sizes.map((size, part) => (2 * (common[part] as number)) / (size - (ignored[part] as number) + text.length)));
}

function compare(question: QuestionTerms, hashes: TermHashes): Pick<Features, 'name' | 'sentence'> {
  let end = textCount;
  const textAt = (at: number) => {
    const start = end;
    end += hashes[at] as number;
    return hashes.subarray(start, end);
  };
  const [name, slug, sentence, service] = [textAt(0), textAt(1), textAt(2), textAt(3)];
  return {
    name: Math.max(overlap(question, name, service), overlap(question, slug, service)),
    sentence: overlap(question, sentence, service),
  };
}

interface Entry {
  uid: string;
  /** contains the hashes of this entry from `start` to `end` */
  list: Int32Array;
  start: number;
  end: number;
}

const hashesOf = ({ list, start, end }: Entry): TermHashes => list.subarray(start, end);

/** The uids and terms of an index's entries, in memory. Only `save` writes them to the file. */
export function openTermOverlaps(blobs: Blobs) {
  const list = new Int32Array(blobs.read('list'));
  const ids = new Int32Array(blobs.read('ids'));
  const ends = new Uint32Array(blobs.read('ends'));
  const uids = new TextDecoder().decode(blobs.read('uids')).split('\n');
  const entries = new Map<number, Entry>();
  for (let at = 0; at < ids.length; at++)
    entries.set(ids[at] as number, { uid: uids[at] as string, list, start: ends[at - 1] ?? 0, end: ends[at] as number });

  return {
    set: (id: number, uid: string, hashes: TermHashes) => void entries.set(id, { uid, list: hashes, start: 0, end: hashes.length }),
    remove: (id: number) => void entries.delete(id),
    uidOf: (id: number) => (entries.get(id) as Entry).uid,
    compare: (question: QuestionTerms, id: number) => compare(question, hashesOf(entries.get(id) as Entry)),
    save(): void {
      const saved = [...entries.values()];
      const savedEnds = new Uint32Array(saved.length);
      for (const [at, { start, end }] of saved.entries()) savedEnds[at] = (savedEnds[at - 1] ?? 0) + end - start;
      const savedList = new Int32Array(savedEnds.at(-1) ?? 0);
      for (const [at, entry] of saved.entries()) savedList.set(hashesOf(entry), savedEnds[at - 1] ?? 0);
      blobs.write('list', savedList);
      blobs.write('ids', Int32Array.from(entries.keys()));
      blobs.write('ends', savedEnds);
      blobs.write('uids', new TextEncoder().encode(saved.map(({ uid }) => uid).join('\n')));
    },
  };
}

export type TermOverlaps = ReturnType<typeof openTermOverlaps>;
