import { type Key, keys, partitions } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { type IntentItem, toIntentRecord } from './intent-item.ts';
import { pages } from './lists.ts';
import { openLog } from './log.ts';
import type { RecordName, RegistryRecord } from './records.ts';
import { type ServiceItem, toServiceRecord } from './service-item.ts';

/** How many reads are under way at once while the whole registry is read. */
const parallelReads = 16;

/** How many records one read fetches. */
const batchSize = 100;

const toRecord = (item: Item): RegistryRecord =>
  item.kind === 'intent' ? toIntentRecord(item as IntentItem) : toServiceRecord(item as ServiceItem);

/** Where a reading of the whole registry has come to: the last service by its name's key, and the last of its intents. */
interface Position {
  name: string;
  uid?: string;
}

/** Some records of the registry. */
export interface RegistryPart {
  records: RegistryRecord[];
  /** with it, a reading goes on after these records */
  cursor: string;
}

/** The registry as search follows it: its log, what stands now, and all of it. Drafts are not there. */
export function openRegistry(table: Table) {
  const log = openLog(table);

  const show = (item: Item | undefined): RegistryRecord | undefined => {
    const record = item && toRecord(item);
    return record?.kind === 'intent' && record.draft ? undefined : record;
  };

  /** The ids of services, in the order of their names, from one on. */
  async function* servicesFrom(name: string | undefined): AsyncGenerator<{ name: string; serviceId: string }> {
    let start: Key | undefined;
    do {
      const { items, lastKey } = await table.query<Key & Item & { service_id: string }>(partitions.serviceName.prefix, {
        ...(name !== undefined && { range: ['>=', name] }),
        start,
      });
      for (const { sk, service_id } of items) yield { name: sk, serviceId: service_id };
      start = lastKey;
    } while (start);
  }

  /** The keys of services and of all that belongs to them. */
  async function* keysFrom(from: Partial<Position>): AsyncGenerator<{ key: Key; at: Position }> {
    const begin = async ({ name, serviceId }: { name: string; serviceId: string }) => {
      const walk = pages(table, serviceId, name === from.name && from.uid !== undefined ? { after: from.uid } : {});
      return { name, serviceId, walk, first: await walk.next() };
    };
    for await (const { name, serviceId, walk, first } of inParallel(servicesFrom(from.name), begin)) {
      yield { key: keys.service(serviceId), at: { name } };
      for (let page = first; !page.done; page = await walk.next()) {
        for (const { intent_uid: uid } of page.value) yield { key: keys.intent(uid), at: { name, uid } };
      }
    }
  }

  return {
    head: log.head,
    findEntry: log.find,
    entriesAfter: log.after,

    /** The records of these names, in their order; undefined where none stands. */
    async readRecords(names: readonly RecordName[]): Promise<(RegistryRecord | undefined)[]> {
      const records: (RegistryRecord | undefined)[] = [];
      for (let start = 0; start < names.length; start += batchSize) {
        const some = names.slice(start, start + batchSize);
        records.push(...(await table.getAll<Item>(some.map(({ kind, id }) => keys[kind](id)))).map(show));
      }
      return records;
    },

    /** The uids of a service's intents. */
    uidsOf: async (serviceId: string): Promise<string[]> =>
      (await Array.fromAsync(pages(table, serviceId))).flat().map(({ intent_uid }) => intent_uid),

    /**
     * Every service and intent, some at a time: names lead to services, these to the lists of their intents. The cost is that of the registry alone,
     * whatever else the tables hold.
     * @param cursor - of an earlier reading, which this one continues
     */
    readAll: (cursor?: string): AsyncGenerator<RegistryPart> =>
      inParallel(inBatches(keysFrom(cursor === undefined ? {} : JSON.parse(cursor))), async (batch) => {
        const items = await table.getAll<Item>(batch.map(({ key }) => key));
        return { records: items.map(show).filter((record) => record !== undefined), cursor: JSON.stringify(batch.at(-1)?.at) };
      }),
  };
}

async function* inBatches<T>(all: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const one of all) {
    if (batch.push(one) < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Runs ahead of its reader: what comes of each item, in their order. */
async function* inParallel<T, R>(items: AsyncIterable<T>, run: (item: T) => Promise<R>): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const started = run(item);
    started.catch(() => {}); // its failure is told when its turn comes
    if (running.push(started) >= parallelReads) yield (await running.shift()) as R;
  }
  for (const started of running) yield await started;
}

export type Registry = ReturnType<typeof openRegistry>;
