import type { StoredCredential } from '../../../schemas/credential.ts';
import type { Intent, IntentInput } from '../../../schemas/intent.ts';
import { parseExact } from '../../../schemas/number.ts';
import type { Service } from '../../../schemas/service.ts';
import { isUlid } from '../runtime/ulid.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

export interface ServiceRecord extends Service {
  kind: 'service';
  /** the number of the log entry that wrote the record */
  rev: number;
  /** absent if there is none; otherwise no call to the credential's origins is made without it */
  credential?: StoredCredential;
  /** number of intents without drafts; changing it leaves `rev` unchanged */
  intents: number;
  drafts: number;
}

export interface IntentRecord extends Intent {
  kind: 'intent';
  /** the number of the log entry that wrote the record */
  rev: number;
}

export type RegistryRecord = ServiceRecord | IntentRecord;

export interface RecordName {
  kind: RegistryRecord['kind'];
  /** service_id or intent_uid */
  id: string;
}

export type ServiceItem = ServiceRecord & Item;

/** The definition is JSON text, because DynamoDB's numbers are narrower than JSON's. */
export interface IntentItem extends Item {
  intent_uid: string;
  service_id: string;
  rev: number;
  definition: string;
}

export const toServiceRecord = ({ pk, sk, ...record }: ServiceItem): ServiceRecord => record as ServiceRecord;

/** @returns undefined if there is no such service */
export async function findService(table: Pick<Table, 'get'>, serviceId: string): Promise<ServiceRecord | undefined> {
  const item = isUlid(serviceId) ? await table.get<ServiceItem>(keys.service(serviceId)) : undefined;
  return item && toServiceRecord(item);
}

export const readDefinition = ({ definition }: IntentItem): IntentInput => parseExact(definition) as IntentInput;

export const toIntentRecord = (item: IntentItem): IntentRecord => ({
  ...readDefinition(item),
  kind: 'intent',
  intent_uid: item.intent_uid,
  service_id: item.service_id,
  rev: item.rev,
});

export const toRecord = (item: Item): RegistryRecord =>
  item.kind === 'intent' ? toIntentRecord(item as IntentItem) : toServiceRecord(item as ServiceItem);

export const toIntentItem = (intent: IntentInput, serviceId: string, rev: number): Key & IntentItem => ({
  ...keys.intent(intent.intent_uid),
  kind: 'intent',
  intent_uid: intent.intent_uid,
  service_id: serviceId,
  rev,
  definition: JSON.stringify(intent),
});
