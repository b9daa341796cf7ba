import type { Charge } from '../policy/limits.ts';
import { ApiError } from '../runtime/api-error.ts';
import type { Condition, Path, Update } from '../table/expression.ts';
import type { Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { digitsFor, digitsIn, packCounts, positionOf, unpackCounts } from './packed-counts.ts';
import { clearAtMs, liveBuckets, slotOf, stillCounts, type Window } from './window.ts';

export interface CountedWindow extends Window {
  period: number;
  /** width of its packed counts in the table, in digits */
  digits: number;
}

/** Width of a limit's packed counts, in digits; all writers must agree. */
export const digitsOf = ({ rate, maxRate = rate }: Charge): number => digitsFor(maxRate);

/** All counts of one owner, with one window per limit, so that one write counts a call in all windows or in none. */
export interface CounterItem {
  /** by limit id; windows of limits that no longer apply stay until they are empty */
  windows: Record<string, CountedWindow>;
  /** tokens of the last writes, newest first, so that a retry after a lost response is recognised */
  last: readonly string[];
}

/** Number of remembered tokens. After that many other writes, a retry of a lost response is counted again. */
export const rememberedTokens = 8;

/** The bucket into which a call is counted, by limit id. */
export type Buckets = Readonly<Record<string, number>>;

/** How long an item outlives its last call, in seconds, so that a wrong clock never deletes live counts. */
export const sweepDelaySeconds = 3_600;

/**
 * A window in the table: the newest bucket, the total, the period (0 for `Infinity`), and the packed counts. Names are short and counts are
 * packed so that an item with eight windows fits into one write unit (1 KB).
 */
type StoredWindow = number[];

/** Indexes of the newest bucket, the total, and the first packed count. */
const [bucketAt, totalAt, firstPacked] = [0, 1, 3];

interface StoredItem extends Item {
  w: Record<string, StoredWindow>;
  l: string[];
}

function readWindow([bucket = 0, total = 0, period = 0, ...packed]: StoredWindow): CountedWindow {
  return { bucket, total, period: period || Number.POSITIVE_INFINITY, counts: unpackCounts(packed), digits: digitsIn(packed) };
}

const read = ({ w, l }: StoredItem): CounterItem => ({
  windows: Object.fromEntries(Object.entries(w).map(([id, window]) => [id, readWindow(window)])),
  last: l,
});

const store = (windows: CounterItem['windows']): StoredItem['w'] =>
  Object.fromEntries(
    Object.entries(windows).map(([id, { bucket, total, period, counts, digits }]) => [
      id,
      [bucket, total, Number.isFinite(period) ? period : 0, ...packCounts(counts, digits)],
    ]),
  );

/** No two states of an item have the same newest token. */
const isUnchanged = (token: string): Condition => ['=', ['l', 0], token];

/** Inserts a token at the front, and shifts the others back. */
const pushToken = (token: string): Update => ({
  set: [[['l', 0], token]],
  copy: Array.from(
    { length: rememberedTokens - 1 },
    (_, at) =>
      [
        ['l', at + 1],
        ['l', at],
      ] as const,
  ),
});

/**
 * The additions to elements of a window that move a call between buckets; one packed number may hold the counts of both.
 * @param to - undefined to remove the call from the window
 * @param from - undefined if the call is new to the window
 */
function toAdd(charge: Charge, to: number | undefined, from: number | undefined): [Path, number][] {
  const { cost } = charge;
  const digits = digitsOf(charge);
  const sums = new Map<number, number>();
  const add = (bucket: number | undefined, amount: number): void => {
    if (bucket === undefined) return void sums.set(totalAt, -amount);
    const { at, unit } = positionOf(slotOf(bucket), digits);
    sums.set(firstPacked + at, (sums.get(firstPacked + at) ?? 0) + amount * unit);
  };
  add(to, cost);
  add(from, -cost);
  return [...sums].map(([element, amount]) => [['w', charge.id, element], amount]);
}

interface NewCount {
  charges: readonly Charge[];
  buckets: Buckets;
  token: string;
  /** buckets into which the call has been counted already; it is moved from those that still count */
  movedFrom?: Buckets | undefined;
}

export const openCounterItems = (table: Table) => ({
  async find(key: Key): Promise<CounterItem | undefined> {
    const item = await table.get<StoredItem>(key);
    return item && read(item);
  },

  /**
   * Counts a call into these buckets. Returns false if a window has a different newest bucket, a limit would be exceeded, or the token is
   * among the remembered ones.
   */
  async count(key: Key, { charges, buckets, token, movedFrom }: NewCount): Promise<CounterItem | false> {
    const changes = charges.map((charge) => {
      const { id, rate, cost } = charge;
      const bucket = buckets[id] ?? 0;
      const from = movedFrom?.[id];
      const isMoved = from !== undefined && stillCounts(from, bucket);
      return {
        add: toAdd(charge, bucket, isMoved ? from : undefined),
        when: [
          ['=', ['w', id, bucketAt], bucket],
          ['<=', ['w', id, totalAt], isMoved ? rate : rate - cost],
        ] satisfies Condition[],
      };
    });
    const add = changes.flatMap((change) => change.add);
    const when = [...changes.flatMap((change) => change.when), ['lacks', 'l', token] as const];
    const written = await table.update<StoredItem>(key, { ...pushToken(token), add, when });
    return written && read(written);
  },

  /** Removes a call from its bucket. Returns false if the bucket no longer counts, or the token is among the remembered ones. */
  async giveBack(key: Key, { charge, bucket, token }: { charge: Charge; bucket: number; token: string }): Promise<CounterItem | false> {
    const add = toAdd(charge, undefined, bucket);
    const when: Condition[] = [
      ['<', ['w', charge.id, bucketAt], bucket + liveBuckets],
      ['lacks', 'l', token],
    ];
    const written = await table.update<StoredItem>(key, { ...pushToken(token), add, when });
    return written && read(written);
  },

  /** Replaces `previous` with the next state. Returns false if the item has changed. */
  replace(key: Key, previous: CounterItem | undefined, { windows, last }: CounterItem): Promise<boolean> {
    const clearMs = Math.max(...Object.values(windows).map((window) => clearAtMs(window, window.period)));
    const item = {
      ...key,
      w: store(windows),
      l: Array.from({ length: rememberedTokens }, (_, at) => last[at] ?? ''),
      ...(Number.isFinite(clearMs) && { expires_at: Math.ceil(clearMs / 1000) + sweepDelaySeconds }),
    };
    const token = previous?.last[0];
    return table.put(item, { when: [token === undefined ? ['absent', 'pk'] : isUnchanged(token)] });
  },
});

/** 429 for a person with too many clients. */
export const tooManyClients = (): ApiError =>
  new ApiError('TOO_MANY_REQUESTS', 'Too many clients have called for this person recently. Try again after Retry-After seconds.', {
    details: { reason: 'clients', retry_after_seconds: sweepDelaySeconds },
    headers: { 'Retry-After': String(sweepDelaySeconds) },
  });
