import type { Change, IntentRecord, ServiceRecord } from '../../store/records.ts';
import type { RegistrySource } from '../registry-source.ts';
import { toOpenSearchDocument } from './documents.ts';
import type { OpenSearchEngine } from './engine.ts';

const batchSize = 100;

/** Brings OpenSearch's documents of some intents to what the registry holds now. */
export async function feedIntents(
  source: Pick<RegistrySource, 'readChanged'>,
  engine: OpenSearchEngine,
  uids: readonly string[],
): Promise<void> {
  for (let start = 0; start < uids.length; start += batchSize) {
    const some = uids.slice(start, start + batchSize);
    const intents = (await source.readChanged(some.map((id) => ({ kind: 'intent', id, rev: '' })))) as (IntentRecord | undefined)[];
    const serviceIds = [...new Set(intents.flatMap((intent) => (intent ? [intent.service_id] : [])))];
    const services = (await source.readChanged(serviceIds.map((id) => ({ kind: 'service', id, rev: '' })))) as (
      | ServiceRecord
      | undefined
    )[];
    const live = new Map(services.flatMap((service) => (service && !service.deleted_at ? [[service.service_id, service]] : [])));
    await engine.write(
      some.map((uid, at) => {
        const intent = intents[at];
        const service = intent && !intent.deleted_at ? live.get(intent.service_id) : undefined;
        return [uid, intent && service ? toOpenSearchDocument(intent, service) : undefined];
      }),
    );
  }
}

/** Brings OpenSearch up to date with changes. A service that was renamed or deleted changes all its intents. */
export async function feedChanges(source: RegistrySource, engine: OpenSearchEngine, sinceMs: number): Promise<void> {
  for await (const changes of source.changesSince(sinceMs)) {
    const idsOf = (kind: Change['kind']) => [...new Set(changes.filter((change) => change.kind === kind).map(({ id }) => id))];
    const members: string[] = [];
    for (const serviceId of idsOf('service')) members.push(...(await engine.uidsOf(serviceId)));
    await feedIntents(source, engine, [...new Set([...idsOf('intent'), ...members])]);
  }
}

/** Writes everything that the registry holds. */
export async function feedAll(source: RegistrySource, engine: OpenSearchEngine): Promise<void> {
  for await (const { records } of source.readAll()) {
    const uids = records.flatMap((record) => (record.kind === 'intent' ? [record.intent_uid] : []));
    await feedIntents(source, engine, uids);
  }
}
