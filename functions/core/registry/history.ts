import type { Change, changeActions, changedKinds, outcomes } from '../../../schemas/changes.ts';
import { type Actor, type Admin, operator } from '../admin/admin.ts';
import { ApiError } from '../api-error.ts';
import { readEnvironment } from '../environment.ts';
import { log } from '../log.ts';
import { canonicalDigest } from '../policy/canonical.ts';
import { historyOf, type Key, keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { isUlid, minUlidAt, newUlid, ulidTimeMs } from '../ulid.ts';

/** A change that an admin is about to make. */
export interface AdminChange {
  /** of the record that the change writes */
  rev: string;
  kind: (typeof changedKinds)[number];
  id: string;
  action: (typeof changeActions)[number];
  /** that the record belongs to */
  namespace?: string | undefined;
  /** of the record that the change replaces */
  before_rev?: string | undefined;
  digest_before?: string | undefined;
  digest_after?: string | undefined;
}

/** An entry of the history. */
export interface HistoryItem extends AdminChange, Item {
  actor: Actor;
  request_id?: string;
  /** the change has taken place: set before anybody replaces or removes the record that it wrote */
  applied?: true;
}

type Outcome = (typeof outcomes)[number];

export type HistoryEntry = HistoryItem & { outcome: Outcome };

export interface HistoryQuery {
  /** how many entries at most */
  count: number;
  /** older entries are left out; milliseconds since the epoch */
  sinceMs?: number | undefined;
  /** the revision that the page follows */
  after?: string | undefined;
  /** of the entries that are wanted; with it, a page may be short or empty though more follow */
  isWanted?: ((entry: HistoryItem) => boolean) | undefined;
}

/** How long the history is kept unless a setting says otherwise, in days. */
const usualDays = 400;

const dayMs = 24 * 3600 * 1000;

/** No request lives this long, so a change that is older and has not come will never come. */
const requestLifeMs = 60_000;

/** Writers' clocks may run ahead by this much. */
const clockToleranceMs = 10_000;

/** How many entries a page looks at if only some are wanted, and how many one query reads then. */
const maxExamined = 1_000;
const examinedAtOnce = 250;

/** What tells two states of a record apart: SHA-256 of the canonical form (RFC 8785), base64url. */
export const digestOf = (content: unknown): string => `sha-256=${canonicalDigest(content)}`;

/**
 * The history of changes by admins. An entry is written before the record that it speaks of, so no change lacks its entry. Whoever replaces
 * or removes a record first marks the entry of the revision that they saw: so a change has taken place exactly if its entry is marked or
 * its revision stands, and nothing has to be written after the record.
 * @param days - how long entries are kept
 */
export function openHistory(table: Table, days: number = usualDays) {
  const lifeSeconds = days * 24 * 3600;

  const fields = ({ actor, requestId }: Admin) => ({ actor, ...(requestId !== undefined && { request_id: requestId }) });

  /** Marks the change that wrote a revision as one that has taken place; nothing happens if it has no entry. */
  async function markApplied(rev: string | undefined): Promise<void> {
    if (rev === undefined || !isUlid(rev)) return;
    await table.update(keys.history(rev), {
      UpdateExpression: 'SET applied = :applied',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':applied': true },
    });
  }

  /** Enters a change that is about to be made, and marks the one that it replaces. */
  async function announce(by: Admin, change: AdminChange): Promise<void> {
    const item = { ...keys.history(change.rev), ...change, ...fields(by), expires_at: Math.floor(Date.now() / 1000) + lifeSeconds };
    await Promise.all([table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' }), markApplied(change.before_rev)]);
  }

  /**
   * Takes back the entry of a change that another one came before.
   * @returns false if the change took place all the same, and has been replaced since
   */
  const withdraw = ({ rev }: AdminChange): Promise<boolean> =>
    table.delete(keys.history(rev), { ConditionExpression: 'attribute_not_exists(applied)' });

  /** The line of the log about a change that has taken place. Programs of operators have no log: what they print is theirs. */
  function write(by: Admin, { action, kind, id, rev }: AdminChange): void {
    if (by !== operator) log.info('changed', { ...fields(by), action, kind, id, rev });
  }

  /** Entries from the newest to the oldest, at most `count` from each month. */
  async function* newestFirst({ after, sinceMs }: HistoryQuery, nowMs: number, countOf: () => number): AsyncGenerator<Page> {
    const oldestMs = Math.max(sinceMs ?? 0, nowMs - days * dayMs);
    const newestMs = Math.min(nowMs + clockToleranceMs, after === undefined ? Number.POSITIVE_INFINITY : ulidTimeMs(after));
    for (const month of monthsBetween(newestMs, oldestMs)) {
      const follows = after === undefined ? undefined : keys.history(after);
      let start: Key | undefined = follows?.pk === month ? follows : undefined;
      const isLast = month === historyOf(oldestMs);
      do {
        const { items, lastKey }: { items: (HistoryItem & Key)[]; lastKey: Key | undefined } = await table.query(month, {
          range: 'sk >= :since',
          ExpressionAttributeValues: { ':since': minUlidAt(oldestMs) },
          ScanIndexForward: false,
          Limit: countOf(),
          ExclusiveStartKey: start,
        });
        yield { items, isEnd: isLast && lastKey === undefined };
        start = lastKey;
      } while (start);
    }
  }

  /** What has come of changes. One that looks undone is looked at again after its record, since it may have been marked in between. */
  async function judge(entries: HistoryItem[], nowMs: number): Promise<HistoryEntry[]> {
    const doubtful = entries.filter(({ applied, kind }) => !applied && (kind === 'service' || kind === 'intent'));
    const records = doubtful.length > 0 ? await table.getAll<Item>(doubtful.map(recordKeyOf)) : [];
    const revOf = new Map(doubtful.map(({ rev }, at) => [rev, records[at]?.rev]));
    const undone = doubtful.filter(({ rev }) => revOf.get(rev) !== rev);
    const again = undone.length > 0 ? await table.getAll<HistoryItem>(undone.map(({ rev }) => keys.history(rev))) : [];
    const markOf = new Map(undone.map(({ rev }, at) => [rev, again[at]]));
    const as = (entry: HistoryItem, outcome: Outcome): HistoryEntry[] => [{ ...entry, outcome }];
    return entries.flatMap((entry) => {
      const isYoung = nowMs - ulidTimeMs(entry.rev) < requestLifeMs;
      if (entry.applied || revOf.get(entry.rev) === entry.rev) return as(entry, 'applied');
      if (entry.kind === 'agent' || entry.kind === 'key') return as(entry, isYoung ? 'open' : 'unknown');
      const latest = markOf.get(entry.rev);
      if (!latest) return [];
      if (latest.applied) return as(entry, 'applied');
      // the write has a condition on what its writer saw, which does not come back
      const mayCome = isYoung && revOf.get(entry.rev) === entry.before_rev;
      return as(entry, mayCome ? 'open' : 'not_applied');
    });
  }

  return {
    announce,
    markApplied,
    withdraw,
    write,

    /** How long a tombstone is kept, in seconds: longer than the entry of the deletion, which it proves. */
    tombstoneLifeSeconds: lifeSeconds + 7 * 24 * 3600,

    /**
     * Makes a change that no record of the registry shows, between its entry and the word that it has taken place.
     * @param effect - takes the revision of the change; returns something falsy, or refuses, if there was nothing to change
     */
    async around<T>(by: Admin, change: Pick<AdminChange, 'kind' | 'id' | 'action'>, effect: (rev: string) => Promise<T>): Promise<T> {
      const entered = { ...change, rev: newUlid() };
      await announce(by, entered);
      const result = await effect(entered.rev).catch(async (error: unknown) => {
        if (error instanceof ApiError && error.status < 500) await withdraw(entered);
        throw error;
      });
      if (!result) {
        await withdraw(entered);
        return result;
      }
      await markApplied(entered.rev);
      write(by, entered);
      return result;
    },

    /**
     * A page of the history, newest first. It reads no more entries than it shows; if only some are wanted, at most 1,000.
     * @returns `next` if more may follow: the revision that the next page follows
     */
    async list(query: HistoryQuery, nowMs: number = Date.now()): Promise<{ entries: HistoryEntry[]; next?: string }> {
      const { count, isWanted = () => true } = query;
      const found: HistoryItem[] = [];
      let examined = 0;
      let last: string | undefined;
      const left = () => (query.isWanted ? examinedAtOnce : count - found.length);
      for await (const { items, isEnd } of newestFirst(query, nowMs, left)) {
        for (const item of items) {
          last = item.rev;
          examined++;
          if (isWanted(item)) found.push(item);
          if (found.length === count) break;
        }
        const isDrained = isEnd && last === items.at(-1)?.rev;
        if (isEnd && (items.length === 0 || isDrained)) return { entries: await judge(found, nowMs) };
        if (found.length === count || (query.isWanted && examined >= maxExamined)) break;
      }
      return { entries: await judge(found, nowMs), ...(last !== undefined && { next: last }) };
    },
  };
}

interface Page {
  items: HistoryItem[];
  /** nothing older follows */
  isEnd: boolean;
}

export type History = ReturnType<typeof openHistory>;

const recordKeyOf = ({ kind, id }: HistoryItem): Key => (kind === 'service' ? keys.service(id) : keys.intent(id));

/** Which entries are wanted; undefined if all are. */
export function selectEntries(wanted: {
  kind?: AdminChange['kind'] | undefined;
  id?: string | undefined;
  /** user name, client id or token subject */
  actor?: string | undefined;
  namespaces?: readonly string[] | undefined;
}): HistoryQuery['isWanted'] {
  const { kind, id, actor, namespaces } = wanted;
  if (Object.values(wanted).every((value) => value === undefined)) return undefined;
  return (entry) =>
    (kind === undefined || entry.kind === kind) &&
    (id === undefined || entry.id === id) &&
    (actor === undefined || Object.values(entry.actor).includes(actor)) &&
    (namespaces === undefined || (entry.namespace !== undefined && namespaces.includes(entry.namespace)));
}

/** An entry as admins read it. */
export const toChange = ({ rev, actor, action, kind, id, outcome, ...more }: HistoryEntry): Change => ({
  changed_at: new Date(ulidTimeMs(rev)).toISOString(),
  actor,
  action,
  kind,
  id,
  rev,
  ...(more.namespace !== undefined && { namespace: more.namespace }),
  ...(more.digest_before !== undefined && { digest_before: more.digest_before }),
  ...(more.digest_after !== undefined && { digest_after: more.digest_after }),
  ...(more.request_id !== undefined && { request_id: more.request_id }),
  outcome,
});

/** The partitions of the months from one moment back to another. */
function monthsBetween(newestMs: number, oldestMs: number): string[] {
  const months: string[] = [];
  const day = new Date(newestMs);
  day.setUTCDate(1);
  for (; historyOf(day.getTime()) >= historyOf(oldestMs); day.setUTCMonth(day.getUTCMonth() - 1)) months.push(historyOf(day.getTime()));
  return months;
}

/** The history of this deployment. */
export function historyFromEnvironment(table: Table): History {
  const { historyDays } = readEnvironment(['historyDays']);
  return openHistory(table, Number(historyDays));
}
