import type * as z from 'zod';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { LogEntry, LoggedChange, recordVersions } from '../../../schemas/changes.ts';
import { unpack } from '../json/pack.ts';
import { keys, partitions } from '../table/keys.ts';
import { pagesOf } from '../table/pages.ts';
import type { Item, Table } from '../table/table.ts';

export interface Head {
  /** 0 before the first change */
  seq: number;
  digest: string | null;
  /** time of the last entry; never decreases */
  at?: string;
}

/** A record before and after the change of an entry. */
export type RecordVersions = z.infer<typeof recordVersions>;

export interface LogQuery {
  count: number;
  since?: string | undefined;
  before?: number | undefined;
  /** filters entries; a page may then be short or empty although more follow */
  isWanted?: ((entry: LogEntry) => boolean) | undefined;
}

/** Default retention of the log, in days. */
export const defaultRetentionDays = 400;

/** Maximum number of entries that a filtered page examines, and number of entries per query. */
const maxExamined = 1_000;
const examinedAtOnce = 250;

const noHead: Head = { seq: 0, digest: null };

/** SHA-256 of the canonical form (RFC 8785), base64url. */
export const digestOf = (content: unknown): string => `sha-256=${canonicalDigest(content)}`;

const toEntry = ({ pk, sk, expires_at, ...entry }: Item): LogEntry => entry as LogEntry;

export const toHead = (item: Item | undefined): Head =>
  item ? { seq: Number(item.seq), digest: String(item.digest), at: String(item.at) } : noHead;

/**
 * The log of the registry, for reading.
 * @param days - how long entries are kept
 */
export function openLog(table: Table, days: number = defaultRetentionDays) {
  return {
    head: async (): Promise<Head> => toHead(await table.get(keys.head())),

    async find(seq: number): Promise<LogEntry | undefined> {
      const item = await table.get(keys.log(seq));
      return item && toEntry(item);
    },

    /**
     * The replaced and deleted records of an entry, before and after it.
     * @returns undefined if it has only created records, if its versions are too large to keep, or if they have expired
     */
    async findVersions(seq: number): Promise<RecordVersions[] | undefined> {
      const item = await table.get<Item & { packed: Uint8Array }>(keys.versions(seq));
      return item && ((await unpack(item.packed)) as RecordVersions[]);
    },

    /** Later entries, oldest first, page by page: one query if there are none. */
    async *after(seq: number): AsyncGenerator<LogEntry[]> {
      for await (const items of pagesOf<Item>(table, partitions.log.prefix, { range: ['>', keys.log(seq).sk] }))
        if (items.length > 0) yield items.map(toEntry);
    },

    /**
     * A page of the log, newest first. It reads as many entries as it shows; with a filter, at most 1,000.
     * @returns `next` if more may follow: the `before` of the next page
     */
    async list(
      { count, since = '', before, isWanted }: LogQuery,
      nowMs: number = Date.now(),
    ): Promise<{ entries: LogEntry[]; next?: number }> {
      const oldest = new Date(nowMs - days * 24 * 3600 * 1000).toISOString();
      const entries: LogEntry[] = [];
      let examined = 0;
      let start = before === undefined ? undefined : keys.log(before);
      do {
        const limit = isWanted ? examinedAtOnce : count - entries.length;
        const { items, lastKey } = await table.query<Item>(partitions.log.prefix, { isBackward: true, limit, start });
        for (const entry of items.map(toEntry)) {
          if (Date.parse(entry.at) < Date.parse(since || oldest) || entry.at < oldest) return { entries };
          examined++;
          if (isWanted === undefined || isWanted(entry)) entries.push(entry);
          if (entries.length === count || examined >= maxExamined) return { entries, ...(entry.seq > 1 && { next: entry.seq }) };
        }
        start = lastKey;
      } while (start);
      return { entries };
    },
  };
}

export function selectEntries(wanted: {
  kind?: LoggedChange['kind'] | undefined;
  id?: string | undefined;
  /** user name, client id or token subject */
  actor?: string | undefined;
  import_id?: string | undefined;
  namespaces?: readonly string[] | undefined;
}): LogQuery['isWanted'] {
  const { kind, id, actor, import_id, namespaces } = wanted;
  if (Object.values(wanted).every((value) => value === undefined)) return undefined;
  return (entry) =>
    entry.changes.some((change) => (kind === undefined || change.kind === kind) && (id === undefined || change.id === id)) &&
    (actor === undefined || Object.values(entry.actor).includes(actor)) &&
    (import_id === undefined || entry.import_id === import_id) &&
    (namespaces === undefined || (entry.namespace !== undefined && namespaces.includes(entry.namespace)));
}
