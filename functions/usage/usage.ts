import { randomUUID } from 'node:crypto';
import type { StatsDimension } from '../../schemas/usage/stats.ts';
import { type Executed, openHistory, shardOf, shards } from '../core/activity/history.ts';
import { runInBatches } from '../core/runtime/batches.ts';
import { log } from '../core/runtime/log.ts';
import { type Key, keys } from '../core/table/keys.ts';
import { beginRun, type Run, RunOvertaken } from '../core/table/leases.ts';
import { pagesOf, readPartitions } from '../core/table/pages.ts';
import type { Item, Table } from '../core/table/table.ts';
import { usageKeys } from './records.ts';
import { type Counted, countOne, dimensionNames, isShared, type Level, levels, openSums, slotOf, type Totals } from './totals.ts';

/** Marks the totals of a slot as out of date. */
type Mark = Key & Item & { slot: number; version: string };

const parallelWrites = 25;

/** Time reserved for the totals of a minute, in milliseconds. */
const totalsMs = 30_000;

/** How long after its end a crowded minute is added up, in milliseconds: most of its log lines have been delivered by then. */
const graceMs = 15_000;

/** How long a roll-up may be silent before the next one takes over, in milliseconds: less than the minute between runs. */
export const leaseMs = 50_000;

/** Executions per page. Each shard holds one page in memory. */
const pageSize = 1_000;

/**
 * Counts each logged execution exactly once, although deliveries are repeated, late and out of order, and every step may fail.
 *
 * 1. `keep` writes each execution under its id, so that a repetition changes nothing, and then marks its minute. It succeeds only if all
 *    writes do; otherwise the delivery is repeated.
 * 2. `rollUp`, once a minute, recomputes the totals of each marked minute from all its executions, page by page, replaces the previous totals,
 *    marks the hour, and only then removes the minute's mark, unless it has been set again since it was read. Once they are over, hours are
 *    summed from minutes and days from hours in the same way. One run is at work at a time; a run that ends early leaves its marks to the next.
 *
 * No total is ever incremented, so that every step can be repeated. A slot only gains executions: totals with fewer are older and replace nothing.
 */
export function openUsage(table: Table, now: () => number = Date.now) {
  const history = openHistory(table);
  const forEach = <T>(all: readonly T[], write: (one: T) => Promise<unknown>): Promise<void> => runInBatches(all, parallelWrites, write);
  /** The items of one slot of a partition: their keys begin with the key of an item without an id. */
  const pagesOfSlot = <T extends Item>({ pk, sk }: Key) => pagesOf<T>(table, pk, { range: ['begins', sk], limit: pageSize });
  const mark = (key: Key, slot: number) => table.put({ ...key, slot, version: randomUUID() });
  const unmark = ({ pk, sk, version }: Mark) => table.delete({ pk, sk }, { when: [['=', 'version', version]] });
  const markedMinutes = () =>
    readPartitions<Mark>(
      table,
      shards.map((shard) => usageKeys.changedMinute(shard, 0).pk),
    );

  /**
   * Replaces the totals of a slot.
   * @param parts - pages of what they are summed from
   * @returns the number of executions; undefined if the time was up before anything was written, or the minute is too crowded to choose the agents
   * with totals of their own before it is over
   */
  async function total(
    level: Level,
    slot: number,
    names: readonly StatsDimension[],
    parts: AsyncIterable<Counted[]>[],
    { run, isOver }: Turn,
  ) {
    const expires_at = Math.ceil((slot + levels[level].retentionMs) / 1_000);
    const tables = await Promise.all(
      names.map(async (dimension) => {
        const present = (await Array.fromAsync(pagesOfSlot<Totals>(usageKeys.stats(level, dimension, slot, '')))).flat();
        const executionsAt = new Map(present.map((item) => [item.sk, item.executions]));
        return { dimension, executionsAt, sums: openSums(dimension, present) };
      }),
    );
    let executions = 0;
    const read = async (pages: AsyncIterable<Counted[]>): Promise<void> => {
      for await (const items of pages) {
        for (const one of items) {
          executions += one.executions;
          for (const { sums } of tables) sums.add(one);
        }
        if (isOver()) return;
        await run.renew();
      }
    };
    await Promise.all(parts.map(read));
    if (isOver()) return undefined;
    const isGoingOn = level === 'minute' && slot + levels.minute.slotMs + graceMs > now();
    if (isGoingOn && tables.some(({ sums }) => sums.isCrowded())) return undefined;
    for (const { dimension, executionsAt, sums } of tables) {
      await run.save({});
      const totals = sums.totals().map(({ id, ...sum }) => ({ ...usageKeys.stats(level, dimension, slot, id), ...sum, slot, expires_at }));
      const put = async (item: Totals): Promise<void> => {
        await run.renew();
        await table.put(item, { when: [['any', ['absent', 'pk'], ['<', 'executions', item.executions]]] });
      };
      const changed = totals.filter((item) => executionsAt.get(item.sk) !== item.executions);
      const [shared = [], own = []] = [true, false].map((is) => changed.filter((item) => isShared(dimension, item) === is));
      await forEach(own, put);
      await forEach(shared, put);
    }
    return executions;
  }

  async function* countedOf(minute: number, shard: number): AsyncGenerator<Counted[]> {
    for await (const items of pagesOfSlot<Executed & Item>(keys.executed(minute, shard, ''))) yield items.map(countOne);
  }

  /** Slots that are not over yet are summed from the level below on every read. */
  async function rollUpSlots(level: 'hour' | 'day', turn: Turn): Promise<void> {
    const { slotMs, below } = levels[level];
    const marks = await readPartitions<Mark>(table, [usageKeys.changedSlot(level, 0).pk]);
    for (const one of marks.filter(({ slot }) => slot + slotMs <= now())) {
      for (const dimension of dimensionNames) {
        const parts = pagesOf<Totals>(table, usageKeys.stats(below, dimension, one.slot, '').pk);
        if ((await total(level, one.slot, [dimension], [parts], turn)) === undefined) return;
      }
      if (level === 'hour') await mark(usageKeys.changedSlot('day', slotOf('day', one.slot)), slotOf('day', one.slot));
      await unmark(one);
    }
  }

  return {
    keep: async (executed: readonly Executed[]): Promise<void> => {
      await history.keep(executed);
      const minutes = [...Map.groupBy(executed, ({ at }) => slotOf('minute', at))];
      await forEach(minutes, ([minute, [first]]) => mark(usageKeys.changedMinute(first ? shardOf(first) : 0, minute), minute));
    },

    /** Does one run, and logs how far it came. Does nothing else if another run is at work. */
    rollUp: async (remainingMs: () => number): Promise<void> => {
      const run = await beginRun(table, usageKeys.countingRun(), leaseMs, now);
      const minutes = Map.groupBy(await markedMinutes(), ({ slot }) => slot);
      let executions = 0;
      try {
        if (!run) return;
        const turn: Turn = { run, isOver: () => remainingMs() <= totalsMs };
        for (const minute of [...minutes.keys()].sort((one, other) => one - other)) {
          const counted = await total(
            'minute',
            minute,
            dimensionNames,
            shards.map((shard) => countedOf(minute, shard)),
            turn,
          );
          if (counted === undefined && turn.isOver()) return;
          if (counted === undefined) continue;
          executions += counted;
          await mark(usageKeys.changedSlot('hour', slotOf('hour', minute)), slotOf('hour', minute));
          await forEach(minutes.get(minute) ?? [], unmark);
          minutes.delete(minute);
        }
        await rollUpSlots('hour', turn);
        await rollUpSlots('day', turn);
      } catch (error) {
        if (!(error instanceof RunOvertaken)) throw error;
      } finally {
        await run?.end().catch(() => {});
        const oldest_seconds = minutes.size === 0 ? 0 : Math.max(0, Math.round((now() - Math.min(...minutes.keys())) / 1_000));
        log.info('counted executions', { executions, oldest_seconds });
      }
    },
  };
}

/** A run, and whether its time is up. */
interface Turn {
  run: Run;
  isOver: () => boolean;
}

export type Usage = ReturnType<typeof openUsage>;
