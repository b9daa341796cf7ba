import { type FullIntent, toFullIntent } from '../../../schemas/intent.ts';
import { batchesOf } from '../batches.ts';
import type { LiveIntents } from './live-intents.ts';
import type { IntentRecord, ServiceRecord } from './records.ts';

/** Maximum size of a page of complete records. Lambda sends at most 6 MB, and escaping the body as a JSON string may double it. */
const maxPageBytes = 2_000_000;

/** An intent takes up to 256 KB, so that a batch reads little more than a page holds. */
const batchSize = 20;

export interface FullPageOptions {
  isWithDrafts: boolean;
  /** the entity tag of a record */
  tagOf(intent: IntentRecord): string;
}

/** The records of a page, at least one if any exists, without those that have been moved or deleted since they were listed. */
export async function readFullPage(
  intents: Pick<LiveIntents, 'read'>,
  service: ServiceRecord,
  uids: readonly string[],
  { isWithDrafts, tagOf }: FullPageOptions,
) {
  const { service_id, service_name, paused } = service;
  const records: FullIntent[] = [];
  const etags: Record<string, string> = {};
  let bytes = 0;
  let lastUid: string | undefined;
  for (const batch of batchesOf(uids, batchSize)) {
    for (const intent of await intents.read(batch, isWithDrafts)) {
      if (intent.service_id !== service_id) continue;
      const record = { ...toFullIntent(intent, service_name), ...(paused && { paused }) };
      bytes += Buffer.byteLength(JSON.stringify(record));
      if (bytes > maxPageBytes && records.length > 0) return { intents: records, etags, lastUid };
      records.push(record);
      etags[intent.intent_uid] = tagOf(intent);
      lastUid = intent.intent_uid;
    }
    lastUid = batch.at(-1);
  }
  return { intents: records, etags, lastUid };
}
