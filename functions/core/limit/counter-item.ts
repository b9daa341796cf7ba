import type { Charge } from '../policy/limits.ts';
import type { Key } from '../store/keys.ts';
import type { Item, Table } from '../store/table.ts';
import { clearAtMs, slotOf, stillCounts, type Window } from './window.ts';

/** A window as it is kept, with its length in seconds; `Infinity` is kept as none. */
export interface CountedWindow extends Window {
  period: number;
}

/** Everything that is counted for one holder: a window for each limit, so that one write counts a call in all of them or in none. */
export interface CounterItem {
  /** by the ids of their limits; those of limits that no longer apply stay until they are empty */
  windows: Record<string, CountedWindow>;
  /** tokens of the last writes, the newest first: by its token a write whose answer was lost is recognised. */
  last: readonly string[];
}

/** How many writes of others may follow one whose answer was lost. After more of them it is counted a second time. */
export const keptTokens = 8;

/** The windows that a call is counted in, and the newest bucket of each. */
export type Buckets = Readonly<Record<string, number>>;

/** The counters of the table. Each method is one operation. */
export interface CounterItems {
  find(key: Key): Promise<CounterItem | undefined>;
  /**
   * Counts a call into these buckets; false if another bucket is the newest of any window, any limit would be exceeded, or the write is one
   * of the last.
   * @param call - with `late` if it has been counted into these buckets already: where they still count, it is moved
   */
  count(
    key: Key,
    call: { charges: readonly Charge[]; buckets: Buckets; token: string; late?: Buckets | undefined },
  ): Promise<CounterItem | false>;
  /** Puts `next` in the place of `previous`; false if that is no longer what stands in the table. */
  replace(key: Key, previous: CounterItem | undefined, next: CounterItem): Promise<boolean>;
}

/** How long an item outlives its last call, so that a clock that is wrong does not delete one that still counts. */
export const sweepDelaySeconds = 3_600;

interface StoredWindow extends Window {
  period?: number;
}

interface StoredItem extends Item {
  windows: Record<string, StoredWindow>;
  last: string[];
}

const read = ({ windows, last }: StoredItem): CounterItem => ({
  windows: Object.fromEntries(
    Object.entries(windows).map(([id, { bucket, counts, total, period = Number.POSITIVE_INFINITY }]) => [
      id,
      { bucket, counts, total, period },
    ]),
  ),
  last,
});

const store = (windows: CounterItem['windows']): StoredItem['windows'] =>
  Object.fromEntries(
    Object.entries(windows).map(([id, { period, ...window }]) => [id, { ...window, ...(Number.isFinite(period) && { period }) }]),
  );

/** No two states of an item have the same newest token. */
const isUnchanged = (token: string) => ({
  ConditionExpression: '#last[0] = :seen',
  ExpressionAttributeNames: { '#last': 'last' },
  ExpressionAttributeValues: { ':seen': token },
});

const isAbsent = { ConditionExpression: 'attribute_not_exists(pk)' };

/** Puts a token at the front, and moves each of the others by one place. */
const pushToken = [...Array.from({ length: keptTokens - 1 }, (_, at) => `#last[${at + 1}] = #last[${at}]`).reverse(), '#last[0] = :token'];

export const openCounterItems = (table: Table): CounterItems => ({
  find: async (key) => {
    const item = await table.get<StoredItem>(key);
    return item && read(item);
  },

  count: async (key, { charges, buckets, token, late }) => {
    const paths = charges.map(({ id, rate, cost }, at) => {
      const bucket = buckets[id] ?? 0;
      const window = `#windows.#id${at}`;
      const slot = `${window}.#counts[${slotOf(bucket)}]`;
      const from = late?.[id];
      const isMoved = from !== undefined && stillCounts(from, bucket);
      const old = isMoved ? `${window}.#counts[${slotOf(from)}]` : `${window}.#total`;
      return {
        // a call that stays in its bucket changes nothing
        set:
          from === bucket ? [`${slot} = ${slot}`] : [`${old} = ${old} ${isMoved ? '-' : '+'} :cost${at}`, `${slot} = ${slot} + :cost${at}`],
        condition: `${window}.#bucket = :bucket${at} AND ${window}.#total <= :most${at}`,
        names: { [`#id${at}`]: id },
        values: {
          ...(from !== bucket && { [`:cost${at}`]: cost }),
          [`:bucket${at}`]: bucket,
          [`:most${at}`]: isMoved ? rate : rate - cost,
        },
      };
    });
    const written = await table.update<StoredItem>(key, {
      UpdateExpression: `SET ${[...paths.flatMap(({ set }) => set), ...pushToken].join(', ')}`,
      ConditionExpression: [...paths.map(({ condition }) => condition), 'NOT contains(#last, :token)'].join(' AND '),
      ExpressionAttributeNames: Object.assign(
        { '#windows': 'windows', '#bucket': 'bucket', '#total': 'total', '#counts': 'counts', '#last': 'last' },
        ...paths.map(({ names }) => names),
      ),
      ExpressionAttributeValues: Object.assign({ ':token': token }, ...paths.map(({ values }) => values)),
      ReturnValues: 'ALL_NEW',
    });
    return written && read(written);
  },

  replace: (key, previous, { windows, last }) => {
    const clearMs = Math.max(...Object.values(windows).map((window) => clearAtMs(window, window.period)));
    const item = {
      ...key,
      windows: store(windows),
      last: Array.from({ length: keptTokens }, (_, at) => last[at] ?? ''),
      ...(Number.isFinite(clearMs) && { expires_at: Math.ceil(clearMs / 1000) + sweepDelaySeconds }),
    };
    const seen = previous?.last[0];
    return table.put(item, seen === undefined ? isAbsent : isUnchanged(seen));
  },
});
