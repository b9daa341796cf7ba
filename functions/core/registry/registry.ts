import { type Key, keys, partitions } from '../table/keys.ts';
import { getMany, pagesOf } from '../table/pages.ts';
import type { Item, Table } from '../table/table.ts';
import { pages } from './lists.ts';
import { openLog } from './log.ts';
import { type RecordName, type RegistryRecord, toRecord } from './records.ts';

const parallelReads = 16;

const batchSize = 100;

/** Progress of reading the registry: the sort key of a service's name, and the uid of its last intent. */
interface Position {
  name: string;
  uid?: string;
}

export interface RegistryPart {
  records: RegistryRecord[];
  /** continues after these records */
  cursor: string;
}

/** The registry as search reads it, without drafts: its log, single records, and all records. */
export function openRegistry(table: Table) {
  const log = openLog(table);

  const show = (item: Item | undefined): RegistryRecord | undefined => {
    const record = item && toRecord(item);
    return record?.kind === 'intent' && record.draft ? undefined : record;
  };

  /** Services in the order of their names, starting at a name. */
  async function* servicesFrom(name: string | undefined): AsyncGenerator<{ name: string; serviceId: string }> {
    const range = name === undefined ? undefined : (['>=', name] as const);
    for await (const items of pagesOf<Key & Item & { service_id: string }>(table, partitions.serviceName.prefix, { range }))
      for (const { sk, service_id } of items) yield { name: sk, serviceId: service_id };
  }

  /** The keys of services, each followed by those of its intents. */
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

    /** The named records, in order; undefined where there is none. */
    async readRecords(names: readonly RecordName[]): Promise<(RegistryRecord | undefined)[]> {
      return (
        await getMany<Item>(
          table,
          names.map(({ kind, id }) => keys[kind](id)),
        )
      ).map(show);
    },

    uidsOf: async (serviceId: string): Promise<string[]> =>
      (await Array.fromAsync(pages(table, serviceId))).flat().map(({ intent_uid }) => intent_uid),

    /**
     * Reads all services, then each service's list of intents, in parts. The cost depends on the registry only,
     * not on what else the tables contain.
     * @param cursor - of an earlier reading, to continue it
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

/** Runs ahead of its reader, and yields results in order. */
async function* inParallel<T, R>(items: AsyncIterable<T>, run: (item: T) => Promise<R>): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const started = run(item);
    started.catch(() => {}); // awaited below, in its turn
    if (running.push(started) >= parallelReads) yield (await running.shift()) as R;
  }
  for (const started of running) yield await started;
}

export type Registry = ReturnType<typeof openRegistry>;
