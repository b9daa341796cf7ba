import { splitIntentUid } from '../../schemas/intent-uid.ts';
import { foldTag } from '../../schemas/text.ts';
import type { IntentRecord, ServiceRecord } from '../core/registry/records.ts';
import { fields, fieldWeights, type SearchDocument, toDocument } from '../core/search/document.ts';
import { nameKey, wordsOf } from '../core/search/text.ts';

/**
 * Repetitions of each field's words in proportion to its weight. All words go into one field, so that term frequencies add up before BM25
 * saturates them, as in SQLite; OpenSearch's multi-field queries take the best field or add up scores instead.
 */
const repetitions = fields.map((field) => [field, Math.round(fieldWeights[field] / Math.min(...Object.values(fieldWeights)))] as const);

const words = (text: string): string => wordsOf(text).join(' ');

/** Increment the number when the definition changes, so that the feed fills a new index. */
export const indexName = 'intents-3';

/** Texts are indexed as folded words, so the analyzers only split at spaces, and stem for ranking. */
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
      method: { type: 'keyword' },
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
  method: intent.endpoint.method,
  deprecated: intent.deprecated ?? false,
  record: JSON.stringify(intent),
});

export type OpenSearchDocument = ReturnType<typeof toOpenSearchDocument>;

/** A write; an `undefined` document is removed from searches. */
export type Entry = readonly [uid: string, document: OpenSearchDocument | undefined];

/** Maximum length of a `_bulk` body, in characters, unless a single document is longer. */
const maxBulkLength = 4_000_000;

/**
 * The bodies of `_bulk` requests with external versions, so that older writes are ignored. Deleted documents are replaced by empty tombstones,
 * because OpenSearch forgets the version of a deleted document after a minute.
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
