import type { StoredCredential } from '../../../schemas/credential.ts';
import type { Intent } from '../../../schemas/intent.ts';
import type { Service } from '../../../schemas/service.ts';

/** What every record of the registry carries besides its own members. */
interface Revisioned {
  /** time-ordered, new with every write */
  rev: string;
  /** a tombstone: milliseconds since the epoch */
  deleted_at?: number;
}

export interface ServiceRecord extends Service, Revisioned {
  kind: 'service';
  /** which claim of its name the service holds, see `service-name.ts` */
  name_claim: string;
  /** calls of its intents carry a credential, and are not made without it; absent if the service has none */
  credential?: StoredCredential;
  /** of a service that was put back: intents written before this went when it was deleted; milliseconds since the epoch */
  emptied_at?: number;
}

export interface IntentRecord extends Intent, Revisioned {
  kind: 'intent';
}

export type RegistryRecord = ServiceRecord | IntentRecord;

/** Says that a record is about to be written as revision `rev`, or has been. `id` is a service_id or an intent_uid. */
export interface Change {
  rev: string;
  kind: RegistryRecord['kind'];
  id: string;
}
