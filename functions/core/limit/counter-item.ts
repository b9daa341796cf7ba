import type { Key } from '../store/keys.ts';
import type { Item, Table } from '../store/table.ts';
import { clearAtMs, slotOf, type Window } from './window.ts';

/** One counter, about 300 bytes whatever its rate and period. */
export interface CounterItem extends Window {
  /** token of the call that was counted last: by it a write whose answer was lost is recognised */
  last: string;
}

/** The counters of the table. Each method is one operation on one item. */
export interface CounterItems {
  find(key: Key): Promise<CounterItem | undefined>;
  /** Counts a call into `bucket`; false if another bucket is the newest, the rate is used up, or the call is the one counted last. */
  count(key: Key, call: { bucket: number; rate: number; token: string }): Promise<CounterItem | false>;
  /** Puts `next` in the place of `previous`; false if that is no longer what stands in the table. `period` is in seconds. */
  replace(key: Key, previous: CounterItem | undefined, next: CounterItem, period: number): Promise<boolean>;
}

/** How long an item outlives its last call, so that a clock that is wrong does not delete one that still counts. */
const sweepDelaySeconds = 3_600;

/** No two states of an item agree in all three values: counting raises the total, and moving a call to another bucket changes who was last. */
const isUnchanged = ({ bucket, total, last }: CounterItem) => ({
  ConditionExpression: '#bucket = :bucket AND #total = :total AND #last = :last',
  ExpressionAttributeNames: { '#bucket': 'bucket', '#total': 'total', '#last': 'last' },
  ExpressionAttributeValues: { ':bucket': bucket, ':total': total, ':last': last },
});

const isAbsent = { ConditionExpression: 'attribute_not_exists(pk)' };

export const openCounterItems = (table: Table): CounterItems => ({
  find: (key) => table.get<CounterItem & Item>(key),

  count: (key, { bucket, rate, token }) =>
    table.update<CounterItem & Item>(key, {
      UpdateExpression: `SET #total = #total + :one, #counts[${slotOf(bucket)}] = #counts[${slotOf(bucket)}] + :one, #last = :token`,
      ConditionExpression: '#bucket = :bucket AND #total < :rate AND #last <> :token',
      ExpressionAttributeNames: { '#bucket': 'bucket', '#total': 'total', '#counts': 'counts', '#last': 'last' },
      ExpressionAttributeValues: { ':one': 1, ':bucket': bucket, ':rate': rate, ':token': token },
      ReturnValues: 'ALL_NEW',
    }),

  replace: (key, previous, { bucket, counts, total, last }, period) => {
    const expiresAt = Math.ceil(clearAtMs({ bucket, counts, total }, period) / 1000) + sweepDelaySeconds;
    return table.put({ ...key, bucket, counts, total, last, expires_at: expiresAt }, previous ? isUnchanged(previous) : isAbsent);
  },
});
