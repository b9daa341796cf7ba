import type { IntentDetails, IntentEndpoint, IntentInput } from '../../../schemas/intent.ts';
import type { BriefIntent } from '../../../schemas/intent-pages.ts';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { firstSentence, plainText, wordsOf } from './text.ts';

/** Weight of a word in each field. The absolute values matter, too: the smaller they are, the later BM25's term frequency saturates. */
export const fieldWeights = {
  name: 2.4,
  tags: 1.2,
  description: 0.6,
  service: 0.6,
  parameters: 0.6,
};

export type SearchField = keyof typeof fieldWeights;

export const fields = Object.keys(fieldWeights) as SearchField[];

export type SearchDocument = Record<SearchField, string>;

const join = (...texts: (string | undefined)[]): string => texts.flatMap((text) => wordsOf(text ?? '')).join(' ');

/** Joins distinct words, because words shared by many parameters would outweigh the others. */
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

/** Number of characters of a description that are embedded; its beginning says what the operation does. */
const maxDescribed = 600;

export const embeddedText = ({ intent_name, description, tags = [] }: IntentInput, serviceName: string): string =>
  [intent_name, serviceName, plainText(description).slice(0, maxDescribed), ...tags].join('\n');

/** An intent as the catalogue shows it. */
export const toCatalogueEntry = (intent: IntentDetails, method: IntentEndpoint['method'] | undefined) => ({
  ...toBriefIntent(intent),
  service_name: intent.service_name,
  method,
  tags: intent.tags,
});

/** A summary that suffices to choose an intent, but not to execute it. */
export const toBriefIntent = ({ intent_uid, intent_name, description, input_parameters }: IntentDetails): BriefIntent => ({
  intent_uid,
  intent_name,
  summary: firstSentence(plainText(description)),
  required: input_parameters.filter(({ required }) => required).map(({ name }) => name),
});
