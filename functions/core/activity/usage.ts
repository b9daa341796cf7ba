import { randomUUID } from 'node:crypto';
import { recordedDays } from '../../../schemas/executions.ts';
import type { StatsDimension } from '../../../schemas/stats.ts';
import { runInBatches } from '../batches.ts';
import { type Key, keys } from '../table/keys.ts';
import { pagesOf, readPartitions } from '../table/pages.ts';
import type { Item, Table } from '../table/table.ts';
import type { Executed } from './executed-lines.ts';
import { addUpBy, type Counted, countOne, dimensionNames, type Level, levels, slotOf, type Totals } from './totals.ts';

/** Marks the totals of a slot as out of date. */
type Mark = Key & Item & { slot: number; version: string };

const parallelWrites = 25;

/** Partitions per hour: a single one would be too slow for a busy gate. */
export const shards = [0, 1, 2, 3, 4, 5, 6, 7] as const;

/** How long executions are kept, in milliseconds. */
export const keptMs = recordedDays * 24 * 3_600_000;

const shardOf = ({ execution_id }: Executed): number => (execution_id.codePointAt(execution_id.length - 1) ?? 0) % shards.length;

/**
 * Counts each logged execution exactly once, although deliveries are repeated, late and out of order, and every step may fail.
 *
 * 1. `keep` writes each execution under its id, so that a repetition changes nothing, and then marks its minute. It succeeds only if all
 *    writes do; otherwise the delivery is repeated.
 * 2. `rollUp`, once a minute, recomputes the totals of each marked minute from all its executions, replaces the previous totals, marks the
 *    hour, and only then removes the minute's mark, unless it has been set again since it was read. Once they are over, hours are summed from
 *    minutes and days from hours in the same way.
 *
 * No total is ever incremented, so that every step can be repeated. A slot only gains executions: totals with fewer are older and replace nothing.
 */
export function openUsage(table: Table, now: () => number = Date.now) {
  const forEach = <T>(all: readonly T[], write: (one: T) => Promise<unknown>): Promise<void> => runInBatches(all, parallelWrites, write);
  /** The items of one slot of a partition: their keys begin with the key of an item without an id. */
  const readSlot = async <T extends Item>({ pk, sk }: Key): Promise<T[]> =>
    (await Array.fromAsync(pagesOf<T>(table, pk, { range: ['begins', sk] }))).flat();
  const mark = (key: Key, slot: number) => table.put({ ...key, slot, version: randomUUID() });
  const unmark = ({ pk, sk, version }: Mark) => table.delete({ pk, sk }, { when: [['=', 'version', version]] });

  async function putTotals(level: Level, dimension: StatsDimension, slot: number, counted: readonly Counted[]): Promise<void> {
    const expires_at = Math.ceil((slot + levels[level].retentionMs) / 1_000);
    const present = await readSlot<Totals>(keys.stats(level, dimension, slot, ''));
    const executionsAt = new Map(present.map((item) => [item.sk, item.executions]));
    const totals = addUpBy(dimension, counted).map(({ id, ...sum }) => ({
      ...keys.stats(level, dimension, slot, id),
      ...sum,
      slot,
      expires_at,
    }));
    await forEach(
      totals.filter((item) => executionsAt.get(item.sk) !== item.executions),
      (item) => table.put(item, { when: [['any', ['absent', 'pk'], ['<', 'executions', item.executions]]] }),
    );
  }

  async function rollUpMinutes(): Promise<void> {
    const marks = await readPartitions<Mark>(
      table,
      shards.map((shard) => keys.changedMinute(shard, 0).pk),
    );
    for (const [minute, own] of [...Map.groupBy(marks, ({ slot }) => slot)].sort(([one], [other]) => one - other)) {
      const executed = await Promise.all(shards.map((shard) => readSlot<Executed & Item>(keys.executed(minute, shard, ''))));
      const counted = executed.flat().map(countOne);
      for (const dimension of dimensionNames) await putTotals('minute', dimension, minute, counted);
      await mark(keys.changedSlot('hour', slotOf('hour', minute)), slotOf('hour', minute));
      await forEach(own, unmark);
    }
  }

  /** Slots that are not over yet are summed from the level below on every read. */
  async function rollUpSlots(level: 'hour' | 'day'): Promise<void> {
    const { slotMs, below } = levels[level];
    const marks = await readPartitions<Mark>(table, [keys.changedSlot(level, 0).pk]);
    for (const one of marks.filter(({ slot }) => slot + slotMs <= now())) {
      for (const dimension of dimensionNames) {
        await putTotals(level, dimension, one.slot, await readPartitions<Totals>(table, [keys.stats(below, dimension, one.slot, '').pk]));
      }
      if (level === 'hour') await mark(keys.changedSlot('day', slotOf('day', one.slot)), slotOf('day', one.slot));
      await unmark(one);
    }
  }

  return {
    keep: async (executed: readonly Executed[]): Promise<void> => {
      const kept = executed.map((one) => ({ ...one, minute: slotOf('minute', one.at) }));
      await forEach(kept, ({ minute, ...one }) =>
        table.put({
          ...keys.executed(minute, shardOf(one), one.execution_id),
          ...one,
          expires_at: Math.ceil((minute + keptMs) / 1_000),
        }),
      );
      const minutes = [...Map.groupBy(kept, ({ minute }) => minute)];
      await forEach(minutes, ([minute, [first]]) => mark(keys.changedMinute(first ? shardOf(first) : 0, minute), minute));
    },

    rollUp: async (): Promise<void> => {
      await rollUpMinutes();
      await rollUpSlots('hour');
      await rollUpSlots('day');
    },
  };
}

export type Usage = ReturnType<typeof openUsage>;
