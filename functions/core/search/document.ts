import type { IntentInput } from '../../../schemas/intent.ts';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { plainText, wordsOf } from './text.ts';

/**
 * The fields that questions are ranked by, and how much a word in each weighs. Not only their proportions count: a word that is repeated
 * counts less each time, and with weights below 1 goes on counting for longer.
 */
export const fieldWeights = {
  name: 2.4,
  tags: 1.2,
  description: 0.6,
  service: 0.6,
  parameters: 0.6,
};

export type Field = keyof typeof fieldWeights;

export const fields = Object.keys(fieldWeights) as Field[];

/** An intent as the index reads it: the words of each field, separated by spaces. */
export type SearchDocument = Record<Field, string>;

const join = (...texts: (string | undefined)[]): string => texts.flatMap((text) => wordsOf(text ?? '')).join(' ');

/** Each word once: long lists of parameters say the same words again and again. */
const joinDistinct = (...texts: string[]): string => [...new Set(texts.flatMap(wordsOf))].join(' ');

const parameterTexts = (parameters: Parameter[]): string[] => parameters.flatMap(({ name, description = '' }) => [name, description]);

export function toDocument(intent: IntentInput, serviceName: string): SearchDocument {
  const { namespace, slug } = splitIntentUid(intent.intent_uid);
  return {
    name: join(intent.intent_name),
    tags: join(...(intent.tags ?? []), intent.category),
    description: join(plainText(intent.description)),
    service: join(serviceName, namespace, slug),
    parameters: joinDistinct(...parameterTexts(intent.input_parameters), ...parameterTexts(intent.output_parameters)),
  };
}

/** Of a longer description, only the beginning says what an operation is about. In characters. */
const maxDescribed = 600;

/** The text that an intent's vector is made of. */
export const meaningText = ({ intent_name, description, tags = [] }: IntentInput, serviceName: string): string =>
  [intent_name, serviceName, plainText(description).slice(0, maxDescribed), ...tags].join('\n');
