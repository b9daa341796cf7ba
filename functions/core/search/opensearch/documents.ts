import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import { foldTag } from '../../../../schemas/text.ts';
import type { IntentRecord, ServiceRecord } from '../../registry/records.ts';
import { fields, fieldWeights, type SearchDocument, toDocument } from '../document.ts';
import { nameKey, wordsOf } from '../text.ts';

/**
 * All words go into one field, repeated in proportion to their weights. So term frequencies are added up before BM25 saturates them, as in
 * SQLite; OpenSearch's queries over several fields take the best field, or add up scores.
 */
const repetitions = fields.map((field) => [field, Math.round(fieldWeights[field] / Math.min(...Object.values(fieldWeights)))] as const);

const words = (text: string): string => wordsOf(text).join(' ');

/** The number changes with the definition, so that the feed fills a new index. */
export const indexName = 'intents-3';

/** Texts arrive as folded words, so they only need to be split at spaces, and stemmed for ranking. */
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

/** `undefined` removes the document from searches. */
export type Entry = readonly [uid: string, document: OpenSearchDocument | undefined];

/** In characters, unless a single document is longer. */
const maxBulkLength = 4_000_000;

/**
 * The bodies of `_bulk` requests with external versions: older ones change nothing. Deleted documents stay as empty ones, which no search
 * finds, because OpenSearch forgets the version of a deleted document after a minute.
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
