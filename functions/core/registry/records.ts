import type { StoredCredential } from '../../../schemas/credential.ts';
import type { Intent } from '../../../schemas/intent.ts';
import type { Service } from '../../../schemas/service.ts';

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
