import type { LogEntry, LoggedChange } from '../../../schemas/changes.ts';
import type { Admin } from '../admin/admin.ts';
import { operator } from '../admin/admin.ts';
import { pack } from '../json/pack.ts';
import { ApiError } from '../runtime/api-error.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { log } from '../runtime/log.ts';
import { newUlid } from '../runtime/ulid.ts';
import { type Key, keys } from '../table/keys.ts';
import { persist } from '../table/retry.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { defaultRetentionDays, digestOf, type Head, openLog, type RecordVersions, toHead } from './log.ts';

export interface Planned<T> {
  result: (seq: number) => T;
  /** empty: nothing is written */
  changes: LoggedChange[];
  /** kept so that the change can be shown and undone */
  versions?: readonly RecordVersions[];
  namespace?: string | undefined;
  /** at most 97, besides the head, the entry and the versions */
  writes: (seq: number) => Write[];
}

export const noChange = <T>(result: T): Planned<T> => ({ result: () => result, changes: [], writes: () => [] });

/** Maximum size of packed versions, in bytes: an item holds 400 KB. */
const maxVersionsBytes = 300_000;

export type Read = <T extends Item>(keys: readonly Key[]) => Promise<(T | undefined)[]>;

/**
 * The log of the registry. Every change is one transaction that moves the head from n to n + 1, appends entry n + 1, and writes the records.
 * So changes are ordered and atomic, and readers follow them by number, without a clock.
 * @param days - how long entries are kept
 */
export function openChangeLog(table: Table, days: number = defaultRetentionDays) {
  const reading = openLog(table, days);
  const { head, find } = reading;

  function entryFor(
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
      ...(by.importId !== undefined && { import_id: by.importId }),
      ...(namespace !== undefined && { namespace }),
      changes,
      previous: digest,
    };
  }

  async function writesOf(before: Head, entry: LogEntry, versions: readonly RecordVersions[] = []): Promise<Write[]> {
    const { seq, at } = entry;
    const expires_at = Math.floor(Date.parse(at) / 1000) + days * 24 * 3600;
    const packed = versions.length > 0 ? await pack(versions) : undefined;
    return [
      {
        update: keys.head(),
        set: { seq, at, digest: digestOf(entry) },
        when: [before.seq === 0 ? ['absent', 'pk'] : ['=', 'seq', before.seq]],
      },
      { put: { ...keys.log(seq), ...entry, expires_at }, when: [['absent', 'pk']] },
      ...(packed && packed.length <= maxVersionsBytes ? [{ put: { ...keys.versions(entry.seq), packed, expires_at } }] : []),
    ];
  }

  /** Logs each changed record. Operators' programs print their own output instead. */
  function report(by: Admin, { seq, request_id, changes }: LogEntry): void {
    if (by === operator) return;
    for (const { action, kind, id } of changes) log.info('changed', { actor: by.actor, request_id, action, kind, id, seq });
  }

  return {
    ...reading,

    /**
     * Makes a change as one transaction. If another change came first, this one is planned again from fresh reads, for up to five seconds.
     * @param plan - plans the change from what it reads, perhaps several times; throws the refusal if the change cannot be made
     * @throws ApiError SERVICE_UNAVAILABLE if other changes kept coming first, or the table cannot be reached
     */
    async change<T>(by: Admin, plan: (read: Read) => Promise<Planned<T>>): Promise<T> {
      const requestId = by.requestId ?? newUlid();
      const attempt = async (): Promise<{ value: T } | undefined> => {
        let before: Head | undefined;
        // a batch read is not a snapshot: the head may be newer than a record that was read with it, so each has its own condition
        const read: Read = async (wanted) => {
          if (before) return table.getAll(wanted);
          const [item, ...items] = await table.getAll([keys.head(), ...wanted]);
          before = toHead(item);
          return items as never;
        };
        const planned = await plan(read);
        before ??= await head();
        if (planned.changes.length === 0) return { value: planned.result(before.seq) };
        const entry = entryFor(by, before, requestId, planned);
        const outcome = await table
          .transact([...(await writesOf(before, entry, planned.versions)), ...planned.writes(entry.seq)])
          .catch(async (error: unknown): Promise<true> => {
            // either the response was lost or the request never arrived: the log shows which
            if (!(error instanceof ApiError) || digestOf((await find(entry.seq)) ?? null) !== digestOf(entry)) throw error;
            return true;
          });
        if (outcome !== true) return undefined;
        report(by, entry);
        return { value: planned.result(entry.seq) };
      };
      return persist(attempt, table.pause);
    },
  };
}

export type ChangeLog = ReturnType<typeof openChangeLog>;

export function changeLogFromEnvironment(table: Table): ChangeLog {
  const { historyDays } = readEnvironment(['historyDays']);
  return openChangeLog(table, Number(historyDays));
}
