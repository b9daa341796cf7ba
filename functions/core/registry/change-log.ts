import type { LogEntry, LoggedChange } from '../../../schemas/changes.ts';
import type { Admin } from '../admin/admin.ts';
import { operator } from '../admin/admin.ts';
import { ApiError } from '../api-error.ts';
import { readEnvironment } from '../environment.ts';
import { log } from '../log.ts';
import { canonicalDigest } from '../policy/canonical.ts';
import { type Key, keys, partitions } from '../table/keys.ts';
import { persist } from '../table/retry.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { newUlid } from '../ulid.ts';

/** How far the registry has come: the newest entry of its log. */
export interface Head {
  /** 0 if nothing has been changed yet */
  seq: number;
  /** of the newest entry */
  digest: string | null;
  /** when that was made; later entries are never dated earlier */
  at?: string;
}

/** A change that has been worked out from what was read. */
export interface Planned<T> {
  /** what the change comes to for its caller, given the number of its entry */
  result: (seq: number) => T;
  /** empty if there is nothing to change: then nothing is written */
  changes: LoggedChange[];
  namespace?: string | undefined;
  /** besides the head and the entry, each under its own conditions; at most 98 */
  writes: (seq: number) => Write[];
}

/** Reads items, as {@link Table.getAll}. */
export type Read = <T extends Item>(keys: readonly Key[]) => Promise<(T | undefined)[]>;

export interface LogQuery {
  /** how many entries at most */
  count: number;
  /** older entries are left out */
  since?: string | undefined;
  /** only entries with a smaller number */
  before?: number | undefined;
  /** of the entries that are wanted; with it, a page may be short or empty though more follow */
  isWanted?: ((entry: LogEntry) => boolean) | undefined;
}

/** How long the log is kept unless a setting says otherwise, in days. */
const usualDays = 400;

/** How many entries a page looks at if only some are wanted, and how many one query reads then. */
const maxExamined = 1_000;
const examinedAtOnce = 250;

const noHead: Head = { seq: 0, digest: null };

/** What tells two states of a record apart: SHA-256 of the canonical form (RFC 8785), base64url. */
export const digestOf = (content: unknown): string => `sha-256=${canonicalDigest(content)}`;

/** An entry as it is shown and digested: without what the table adds to it. */
const toEntry = ({ pk, sk, expires_at, ...entry }: Item): LogEntry => entry as LogEntry;

/**
 * The log of the registry. Every change is one transaction that moves the head from n to n + 1, appends entry n + 1, and writes the records.
 * So changes have one order, each is whole or has not happened, and whoever knows the number up to which it has read follows them
 * without a clock.
 * @param days - how long entries are kept
 */
export function openChangeLog(table: Table, days: number = usualDays) {
  const toHead = (item: Item | undefined): Head =>
    item ? { seq: Number(item.seq), digest: String(item.digest), at: String(item.at) } : noHead;

  const head = async (): Promise<Head> => toHead(await table.get(keys.head()));

  const find = async (seq: number): Promise<LogEntry | undefined> => {
    const item = await table.get(keys.log(seq));
    return item && toEntry(item);
  };

  function enter(
    by: Admin,
    { seq, digest, at: earliest = '' }: Head,
    request_id: string,
    { changes, namespace }: Planned<unknown>,
  ): LogEntry {
    const now = new Date().toISOString();
    return {
      seq: seq + 1,
      at: now > earliest ? now : earliest,
      actor: by.actor,
      request_id,
      ...(namespace !== undefined && { namespace }),
      changes,
      previous: digest,
    };
  }

  function writesOf(before: Head, entry: LogEntry): Write[] {
    const { seq, at } = entry;
    const expires_at = Math.floor(Date.parse(at) / 1000) + days * 24 * 3600;
    return [
      {
        update: keys.head(),
        set: { seq, at, digest: digestOf(entry) },
        when: [before.seq === 0 ? ['absent', 'pk'] : ['=', 'seq', before.seq]],
      },
      { put: { ...keys.log(seq), ...entry, expires_at }, when: [['absent', 'pk']] },
    ];
  }

  /** The line of the log about each record that was changed. Programs of operators have no log: what they print is theirs. */
  function report(by: Admin, { seq, request_id, changes }: LogEntry): void {
    if (by === operator) return;
    for (const { action, kind, id } of changes) log.info('changed', { actor: by.actor, request_id, action, kind, id, seq });
  }

  return {
    head,
    find,

    /**
     * Makes a change as one transaction. If another one came before it, it is worked out anew from what stands then, for up to five seconds.
     * @param plan - works the change out from what it reads; throws the refusal if it cannot be made. Perhaps called several times
     * @throws ApiError SERVICE_UNAVAILABLE if changes of others came before it all that time, or the table cannot be reached
     */
    async change<T>(by: Admin, plan: (read: Read) => Promise<Planned<T>>): Promise<T> {
      const requestId = by.requestId ?? newUlid();
      const attempt = async (): Promise<{ value: T } | undefined> => {
        let before: Head | undefined;
        // a batch is no snapshot: the head may be newer than a record that was read with it, so each has a condition of its own
        const read: Read = async (wanted) => {
          if (before) return table.getAll(wanted);
          const [item, ...items] = await table.getAll([keys.head(), ...wanted]);
          before = toHead(item);
          return items as never;
        };
        const planned = await plan(read);
        before ??= await head();
        if (planned.changes.length === 0) return { value: planned.result(before.seq) };
        const entry = enter(by, before, requestId, planned);
        const outcome = await table
          .transact([...writesOf(before, entry), ...planned.writes(entry.seq)])
          .catch(async (error: unknown): Promise<true> => {
            // the answer was lost, or the table has not been reached: the log tells
            if (!(error instanceof ApiError) || digestOf((await find(entry.seq)) ?? null) !== digestOf(entry)) throw error;
            return true;
          });
        if (outcome !== true) return undefined;
        report(by, entry);
        return { value: planned.result(entry.seq) };
      };
      return persist(attempt, table.pause);
    },

    /** Entries with a greater number, oldest first, page by page: one query if there are none. */
    async *after(seq: number): AsyncGenerator<LogEntry[]> {
      let start: Key | undefined;
      do {
        const { items, lastKey } = await table.query<Item>(partitions.log.prefix, { range: ['>', keys.log(seq).sk], start });
        if (items.length > 0) yield items.map(toEntry);
        start = lastKey;
      } while (start);
    },

    /**
     * A page of the log, newest first. It reads no more entries than it shows; if only some are wanted, at most 1,000.
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

export type ChangeLog = ReturnType<typeof openChangeLog>;

/** Which entries are wanted; undefined if all are. */
export function selectEntries(wanted: {
  kind?: LoggedChange['kind'] | undefined;
  id?: string | undefined;
  /** user name, client id or token subject */
  actor?: string | undefined;
  namespaces?: readonly string[] | undefined;
}): LogQuery['isWanted'] {
  const { kind, id, actor, namespaces } = wanted;
  if (Object.values(wanted).every((value) => value === undefined)) return undefined;
  return (entry) =>
    entry.changes.some((change) => (kind === undefined || change.kind === kind) && (id === undefined || change.id === id)) &&
    (actor === undefined || Object.values(entry.actor).includes(actor)) &&
    (namespaces === undefined || (entry.namespace !== undefined && namespaces.includes(entry.namespace)));
}

/** The log of this deployment. */
export function changeLogFromEnvironment(table: Table): ChangeLog {
  const { historyDays } = readEnvironment(['historyDays']);
  return openChangeLog(table, Number(historyDays));
}
