import { splitIntentUid } from '../../../../schemas/intent-uid.ts';
import type { IntentRecord, ServiceRecord } from '../../store/records.ts';
import { fields, toDocument } from '../document.ts';
import { foldTag } from '../query.ts';
import { wordsOf } from '../text.ts';

const words = (text: string): string => wordsOf(text).join(' ');

/** What the collection's index has to be created with. Texts come as folded words already: they are split at spaces, and stemmed to be ranked. */
export const indexDefinition = {
  settings: {
    analysis: { analyzer: { stemmed: { type: 'custom', tokenizer: 'whitespace', filter: ['porter_stem'] } } },
  },
  mappings: {
    dynamic: false,
    properties: {
      ...Object.fromEntries(fields.map((field) => [field, { type: 'text', analyzer: 'stemmed' }])),
      ...Object.fromEntries(
        ['service_name', 'intent_name', 'description'].map((field) => [`exact_${field}`, { type: 'text', analyzer: 'whitespace' }]),
      ),
      exact_tags: { type: 'keyword' },
      uid: { type: 'keyword' },
      namespace: { type: 'keyword' },
      service_id: { type: 'keyword' },
      deprecated: { type: 'boolean' },
    },
  },
};

/** A live intent as a document of the collection. */
export const toOpenSearchDocument = (intent: IntentRecord, { service_id, service_name }: ServiceRecord) => ({
  ...toDocument(intent, service_name),
  exact_service_name: words(service_name),
  exact_intent_name: words(intent.intent_name),
  exact_description: words(intent.description),
  exact_tags: (intent.tags ?? []).map(foldTag),
  uid: intent.intent_uid,
  namespace: foldTag(splitIntentUid(intent.intent_uid).namespace),
  service_id,
  service_name,
  deprecated: intent.deprecated ?? false,
  record: JSON.stringify(intent),
});

export type OpenSearchDocument = ReturnType<typeof toOpenSearchDocument>;

/** The body of a `_bulk` request: documents by their uid, undefined for what is to be deleted. */
export const toBulkBody = (entries: readonly (readonly [uid: string, document: OpenSearchDocument | undefined])[]): string =>
  entries
    .flatMap(([_id, document]): object[] => (document ? [{ index: { _id } }, document] : [{ delete: { _id } }]))
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
