import { changesSince } from './changes.ts';
import { toIntentRecord } from './intents.ts';
import { type Key, keys } from './keys.ts';
import type { Change, RegistryRecord } from './records.ts';
import type { Item, Table } from './table.ts';

const toRecord = (item: Item): RegistryRecord =>
  (item.kind === 'intent' ? toIntentRecord(item as Parameters<typeof toIntentRecord>[0]) : item) as RegistryRecord;

/** The registry as search follows it: what has changed since a moment, what stands now, and all of it. */
export function openRegistry(table: Table) {
  return {
    /** Changes announced at or after a moment, oldest first, page by page. */
    changesSince: (timeMs: number) => changesSince(table, timeMs),

    /** The records that changes speak of, in their order; undefined if there is none (yet). */
    async readChanged(changes: Pick<Change, 'kind' | 'id'>[]): Promise<(RegistryRecord | undefined)[]> {
      const records: (RegistryRecord | undefined)[] = [];
      for (let start = 0; start < changes.length; start += 100) {
        const some = changes.slice(start, start + 100);
        const items = await table.getAll<Item>(some.map(({ kind, id }) => keys[kind](id)));
        records.push(...items.map((item) => item && toRecord(item)));
      }
      return records;
    },

    /** Every service and intent, tombstones too, page by page. */
    async *scan(): AsyncGenerator<RegistryRecord[]> {
      let start: Key | undefined;
      do {
        const { items, lastKey } = await table.scan<Item>({
          FilterExpression: 'kind IN (:service, :intent) AND attribute_exists(service_id)',
          ExpressionAttributeValues: { ':service': 'service', ':intent': 'intent' },
          ExclusiveStartKey: start,
        });
        if (items.length > 0) yield items.map(toRecord);
        start = lastKey;
      } while (start);
    },
  };
}

export type Registry = ReturnType<typeof openRegistry>;
