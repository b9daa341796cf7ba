import { errorTable } from '../../schemas/errors.ts';
import { latencyLimits, type StatsDimension, type StatsNumbers, type StatsPeriod } from '../../schemas/usage/stats.ts';
import type { Key } from '../core/table/keys.ts';
import { readPartitions } from '../core/table/pages.ts';
import type { Table } from '../core/table/table.ts';
import { usageKeys } from './records.ts';
import { addUp, type Counted, type Level, levels, slotOf, type Totals } from './totals.ts';

type Slot = Counted & { slot: number };

const minuteMs = 60_000;

/** The slots of each period, and the level of the totals that they are made of. */
const periods = {
  hour: { level: 'minute', slotMs: 5 * minuteMs, count: 12 },
  day: { level: 'hour', slotMs: levels.hour.slotMs, count: 24 },
  month: { level: 'day', slotMs: levels.day.slotMs, count: 30 },
} as const satisfies Record<StatsPeriod, { level: Level; slotMs: number; count: number }>;

/** Reads the totals that `usage.ts` keeps. */
export function openExecutionStats(table: Table, now: () => number = Date.now) {
  /** @param changed - hours and days whose parts have changed since they were rolled up */
  async function readSlots(level: Level, dimension: StatsDimension, slots: readonly number[], changed: Record<Level, Set<number>>) {
    const whole = new Set(slots.filter((slot) => !changed[level].has(slot)));
    const items = await readPartitions<Totals & { slot: number }>(
      table,
      [...whole].map((slot) => usageKeys.stats(level, dimension, slot, '').pk),
    );
    const found: Slot[] = items.filter(({ slot }) => whole.has(slot));
    const below = level === 'day' ? 'hour' : 'minute';
    for (const slot of slots.filter((one) => !whole.has(one))) {
      const parts = Array.from({ length: levels[level].slotMs / levels[below].slotMs }, (_, at) => slot + at * levels[below].slotMs);
      found.push(...(await readSlots(below, dimension, parts, changed)).map((part) => ({ ...part, slot })));
    }
    return found;
  }

  return {
    /** The totals of the last 60 minutes, 24 hours or 30 days, unordered. */
    read: async (period: StatsPeriod, dimension: StatsDimension) => {
      const { level, slotMs, count } = periods[period];
      const fromMs = (Math.floor(now() / slotMs) - count + 1) * slotMs;
      const partMs = levels[level].slotMs;
      const slots = Array.from({ length: (count * slotMs) / partMs }, (_, at) => fromMs + at * partMs);
      const marks = await readPartitions<Key & Slot>(table, [usageKeys.changedSlot('hour', 0).pk]);
      const hours = marks.filter(({ sk }) => sk.startsWith('hour')).map(({ slot }) => slot);
      const days = marks.map(({ slot }) => slotOf('day', slot));
      const found = await readSlots(level, dimension, slots, { minute: new Set(), hour: new Set(hours), day: new Set(days) });
      const totals = found.map((one) => ({ ...one, slot: Math.floor(one.slot / slotMs) * slotMs }));
      return { from: toDateTime(fromMs), totals };
    },
  };
}

export type ExecutionStats = ReturnType<typeof openExecutionStats>;

/** One row of totals per key, busiest first, with the names that its totals have. */
export function toRows<N extends 'service_id' | 'intent_uid' | 'agent_id'>(
  totals: readonly Slot[],
  names: readonly N[],
  keyOf = (one: Slot): string => names.map((name) => one[name]).join(' '),
) {
  const rows = [...Map.groupBy(totals, keyOf).values()].map((own) => {
    const { last_failure: failure, ...sum } = addUp(own);
    return {
      ...(Object.fromEntries(names.map((name) => [name, own[0]?.[name]])) as Pick<Slot, N>),
      ...toNumbers(sum),
      ...(failure && { last_failure: { ...failure, at: toDateTime(failure.at) } }),
      slots: [...Map.groupBy(own, ({ slot }) => slot)]
        .sort(([one], [other]) => one - other)
        .map(([slot, some]) => ({ from: toDateTime(slot), ...toNumbers(addUp(some)) })),
    };
  });
  return rows.sort((one, other) => other.executions - one.executions);
}

function toNumbers(sum: Counted): StatsNumbers {
  const number = (name: string): number => Number(sum[name] ?? 0);
  const refusals = Object.keys(errorTable).map((code) => [code, number(`refused_${code}`)] as const);
  return {
    executions: sum.executions,
    refusals: Object.fromEntries(refusals.filter(([, count]) => count > 0)),
    upstream_calls: number('upstream_calls'),
    upstream_failures: number('upstream_failures'),
    drift: number('drift'),
    upstream_ms: number('upstream_ms'),
    latency: [...latencyLimits, 0].map((_, at) => number(`latency_${at}`)),
  };
}

const toDateTime = (timeMs: number): string => new Date(timeMs).toISOString();
