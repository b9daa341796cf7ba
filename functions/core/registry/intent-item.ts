import type { IntentInput } from '../../../schemas/intent.ts';
import { parseExact } from '../../../schemas/number.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item } from '../table/table.ts';
import type { IntentRecord } from './records.ts';

/** What the table holds of an intent: the definition as JSON text, because DynamoDB's numbers are narrower than JSON's. */
export interface IntentItem extends Item {
  kind: 'intent';
  intent_uid: string;
  service_id: string;
  rev: string;
  definition?: string;
  deleted_at?: number;
}

export const toIntentRecord = ({ definition = '{}', intent_uid, service_id, rev, deleted_at }: IntentItem): IntentRecord => ({
  ...(parseExact(definition) as IntentInput),
  kind: 'intent',
  intent_uid,
  service_id,
  rev,
  ...(deleted_at !== undefined && { deleted_at }),
});

export const toIntentItem = (intent: IntentInput, serviceId: string, rev: string): Key & IntentItem => ({
  ...keys.intent(intent.intent_uid),
  kind: 'intent',
  intent_uid: intent.intent_uid,
  service_id: serviceId,
  rev,
  definition: JSON.stringify(intent),
});

/** Whether a record is there and no tombstone. */
export const isLive = <T extends { deleted_at?: number }>(record: T | undefined): record is T =>
  record !== undefined && record.deleted_at === undefined;
