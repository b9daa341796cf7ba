import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import { foldTag } from '../../../../schemas/text.ts';
import type { IntentRecord, ServiceRecord } from '../../registry/records.ts';
import { fields, fieldWeights, type SearchDocument, toDocument } from '../document.ts';
import { nameKey, wordsOf } from '../text.ts';

/**
 * How often each field's words stand in the one field that questions are ranked by: in proportion to its weight. So BM25 adds up the
 * fields before it saturates, as SQLite's does; OpenSearch's own queries over several fields take the best field alone, or add up scores.
 */
const repetitions = fields.map((field) => [field, Math.round(fieldWeights[field] / Math.min(...Object.values(fieldWeights)))] as const);

const words = (text: string): string => wordsOf(text).join(' ');

/** The name of the index. Its number changes with the definition, so that the feed fills a new one. */
export const indexName = 'intents-2';

/** What the collection's index has to be created with. Texts come as folded words already: they are split at spaces, and stemmed to be ranked. */
export const indexDefinition = {
  settings: {
    analysis: { analyzer: { stemmed: { type: 'custom', tokenizer: 'whitespace', filter: ['porter_stem'] } } },
  },
  mappings: {
    dynamic: false,
    properties: {
      words: { type: 'text', analyzer: 'stemmed', index_options: 'freqs' },
      ...Object.fromEntries(
        ['service_name', 'intent_name', 'description'].map((field) => [`exact_${field}`, { type: 'text', analyzer: 'whitespace' }]),
      ),
      name_key: { type: 'keyword' },
      exact_tags: { type: 'keyword' },
      uid: { type: 'keyword' },
      namespace: { type: 'keyword' },
      service_id: { type: 'keyword' },
      deprecated: { type: 'boolean' },
    },
  },
};

const repeat = (document: SearchDocument): string =>
  repetitions.flatMap(([field, times]) => Array<string>(times).fill(document[field])).join(' ');

/** A live intent as a document of the collection. */
export const toOpenSearchDocument = (intent: IntentRecord, { service_id, service_name }: ServiceRecord) => ({
  words: repeat(toDocument(intent, service_name)),
  exact_service_name: words(service_name),
  exact_intent_name: words(intent.intent_name),
  exact_description: words(intent.description),
  name_key: nameKey(intent.intent_name),
  exact_tags: (intent.tags ?? []).map(foldTag),
  uid: intent.intent_uid,
  namespace: foldTag(splitIntentUid(intent.intent_uid).namespace),
  service_id,
  service_name,
  deprecated: intent.deprecated ?? false,
  record: JSON.stringify(intent),
});

export type OpenSearchDocument = ReturnType<typeof toOpenSearchDocument>;

/** A document by its id; undefined if no search may find it any more. */
export type Entry = readonly [uid: string, document: OpenSearchDocument | undefined];

/** Bodies of `_bulk` requests are not longer than this, in characters, unless a single document is. */
const maxBulkLength = 4_000_000;

/**
 * The bodies of the `_bulk` requests that write documents as of a version: one that is older than what is there changes nothing.
 * What is deleted stays as an empty document, which no search finds, because OpenSearch forgets the version of a deleted one after a minute.
 */
export function toBulkBodies(entries: readonly Entry[], version: number): string[] {
  const bodies: string[] = [];
  let body = '';
  for (const [_id, document = {}] of entries) {
    const lines = `${JSON.stringify({ index: { _id, version, version_type: 'external' } })}\n${JSON.stringify(document)}\n`;
    if (body !== '' && body.length + lines.length > maxBulkLength) {
      bodies.push(body);
      body = '';
    }
    body += lines;
  }
  return body === '' ? bodies : [...bodies, body];
}
