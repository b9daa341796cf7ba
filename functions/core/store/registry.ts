import { changesSince } from './changes.ts';
import { toIntentRecord } from './intents.ts';
import { type Key, keys } from './keys.ts';
import { listMembers } from './members.ts';
import type { Change, RegistryRecord } from './records.ts';
import type { Item, Table } from './table.ts';

const toRecord = (item: Item): RegistryRecord =>
  (item.kind === 'intent' ? toIntentRecord(item as Parameters<typeof toIntentRecord>[0]) : item) as RegistryRecord;

export interface RegistryPage {
  records: RegistryRecord[];
  /** where the next page begins; undefined after the last one */
  cursor: string | undefined;
}

/** The registry as search follows it: what has changed since a moment, what stands now, and all of it. */
export function openRegistry(table: Table) {
  /** A page of every service and intent, tombstones too. */
  async function page(cursor?: string): Promise<RegistryPage> {
    const { items, lastKey } = await table.scan<Item>({
      FilterExpression: 'kind IN (:service, :intent) AND attribute_exists(service_id)',
      ExpressionAttributeValues: { ':service': 'service', ':intent': 'intent' },
      ExclusiveStartKey: cursor === undefined ? undefined : (JSON.parse(cursor) as Key),
    });
    return { records: items.map(toRecord), cursor: lastKey && JSON.stringify(lastKey) };
  }

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

    /** The uids of a live service's intents. */
    membersOf: (serviceId: string) => listMembers(table, serviceId),

    page,

    /** Every service and intent, tombstones too, page by page. */
    async *scan(): AsyncGenerator<RegistryRecord[]> {
      let cursor: string | undefined;
      do {
        const next = await page(cursor);
        if (next.records.length > 0) yield next.records;
        cursor = next.cursor;
      } while (cursor);
    },
  };
}

export type Registry = ReturnType<typeof openRegistry>;
