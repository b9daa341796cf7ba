import { changesSince } from './changes.ts';
import { type IntentItem, isLive, toIntentRecord } from './intent-item.ts';
import { type Key, keys, partitions } from './keys.ts';
import { pages } from './members.ts';
import type { Change, RegistryRecord } from './records.ts';
import type { Item, Table } from './table.ts';

/** How many reads are under way at once while the whole registry is read. */
const parallelReads = 16;

/** How many records one read fetches. */
const batchSize = 100;

const toRecord = (item: Item): RegistryRecord => (item.kind === 'intent' ? toIntentRecord(item as IntentItem) : item) as RegistryRecord;

/** The registry as search follows it: what has changed since a moment, what stands now, and all of it. */
export function openRegistry(table: Table) {
  /** The ids of services, in the order of their names. A service that is being renamed has two names. */
  async function* serviceIds(): AsyncGenerator<string> {
    let start: Key | undefined;
    do {
      const { items, lastKey } = await table.query<{ service_id: string }>(partitions.serviceName.prefix, { ExclusiveStartKey: start });
      yield* items.map(({ service_id }) => service_id);
      start = lastKey;
    } while (start);
  }

  /** The keys of all services and of all that belongs to them. */
  async function* allKeys(): AsyncGenerator<Key> {
    const begin = async (serviceId: string) => {
      const walk = pages(table, serviceId);
      return { serviceId, walk, first: await walk.next() };
    };
    for await (const { serviceId, walk, first } of inParallel(serviceIds(), begin)) {
      yield keys.service(serviceId);
      for (let page = first; !page.done; page = await walk.next()) yield* page.value.map(({ intent_uid }) => keys.intent(intent_uid));
    }
  }

  return {
    /** Changes announced at or after a moment, oldest first, page by page. */
    changesSince: (timeMs: number) => changesSince(table, timeMs),

    /** The records that changes speak of, in their order; undefined if there is none (yet). */
    async readChanged(changes: Pick<Change, 'kind' | 'id'>[]): Promise<(RegistryRecord | undefined)[]> {
      const records: (RegistryRecord | undefined)[] = [];
      for (let start = 0; start < changes.length; start += batchSize) {
        const some = changes.slice(start, start + batchSize);
        const items = await table.getAll<Item>(some.map(({ kind, id }) => keys[kind](id)));
        records.push(...items.map((item) => item && toRecord(item)));
      }
      return records;
    },

    /**
     * Every live service and intent, some at a time: names lead to services, these to the pointers of their intents. The cost is that of
     * the registry alone, whatever else the tables hold.
     */
    readAll: (): AsyncGenerator<RegistryRecord[]> =>
      inParallel(inBatches(allKeys()), async (some) => (await table.getAll<Item>(some)).filter(isLive).map(toRecord)),
  };
}

async function* inBatches(all: AsyncIterable<Key>): AsyncGenerator<Key[]> {
  let batch: Key[] = [];
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
