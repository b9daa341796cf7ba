import { type FullIntent, toFullIntent } from '../../../schemas/intent.ts';
import { batchesOf } from '../runtime/batches.ts';
import type { LiveIntents } from './live-intents.ts';
import type { ServiceRecord } from './records.ts';

/** Maximum size of a page of complete records. Lambda sends at most 6 MB, and escaping the body as a JSON string may double it. */
const maxPageBytes = 2_000_000;

/** An intent takes up to 256 KB, so that a batch reads little more than a page holds. */
const batchSize = 20;

/**
 * The complete records of a service's intents, as many as fit into a page, but at least one if any exists. Omits those that have been moved or deleted
 * since they were listed.
 * @returns the records with their revisions, and the uid after which the next page begins
 */
export async function readFullPage(
  intents: Pick<LiveIntents, 'read'>,
  { service_id, service_name, paused }: Pick<ServiceRecord, 'service_id' | 'service_name' | 'paused'>,
  uids: readonly string[],
  isWithDrafts: boolean,
): Promise<{ records: { shown: FullIntent; rev: number }[]; lastUid: string | undefined }> {
  const records: { shown: FullIntent; rev: number }[] = [];
  let bytes = 0;
  let lastUid: string | undefined;
  for (const batch of batchesOf(uids, batchSize)) {
    for (const intent of await intents.read(batch, isWithDrafts)) {
      if (intent.service_id !== service_id) continue;
      const shown = { ...toFullIntent(intent, service_name), ...(paused && { paused }) };
      bytes += Buffer.byteLength(JSON.stringify(shown));
      if (bytes > maxPageBytes && records.length > 0) return { records, lastUid };
      records.push({ shown, rev: intent.rev });
      lastUid = intent.intent_uid;
    }
    lastUid = batch.at(-1);
  }
  return { records, lastUid };
}
