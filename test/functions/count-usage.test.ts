import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Executed } from '../../functions/core/activity/executed-lines.ts';
import { openExecutionStats, toRows } from '../../functions/core/activity/stats.ts';
import { openUsage } from '../../functions/core/activity/usage.ts';
import { log } from '../../functions/core/log.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { newUlid } from '../../functions/core/ulid.ts';
import { createAction } from '../../functions/count-usage.ts';
import type { StatsDimension, StatsPeriod } from '../../schemas/stats.ts';
import { deliveryOf, lineOf } from '../support/executed-lines.ts';
import { seededRandom } from '../support/random.ts';
import { openMemoryTable } from '../world/memory-table.ts';

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const noon = Date.parse('2026-03-01T12:00:00Z');

let nowMs = noon;
const now = () => nowMs;
const open = (table: Table) => {
  const run = createAction({ usage: openUsage(table, now), now });
  return { deliver: (lines: Parameters<typeof deliveryOf>[0]) => run(deliveryOf(lines)), rollUp: () => run({}), run };
};

const executed = (more: Partial<Executed> = {}): Executed => ({
  execution_id: newUlid(),
  at: noon,
  agent_id: 'agent-1',
  outcome: 'OK',
  service_id: 's1',
  intent_uid: 'a.example:look:v1',
  ...more,
});

const keyOf = { service: ['service_id'], intent: ['service_id', 'intent_uid'], agent: ['service_id', 'agent_id'] } as const;

/** Executions by slot and by the names of a dimension. */
async function countsOf(table: Table, period: StatsPeriod, by: StatsDimension): Promise<Record<string, number>> {
  const { totals } = await openExecutionStats(table, now).read(period, by);
  const nameOf = (row: Partial<Pick<Executed, 'service_id' | 'intent_uid' | 'agent_id'>>) => keyOf[by].map((name) => row[name]).join(' ');
  const rows = toRows(totals, keyOf[by]);
  return Object.fromEntries(rows.flatMap((row) => row.slots.map(({ from, executions }) => [`${from} ${nameOf(row)}`, executions])));
}

const executionsOf = async (table: Table, period: StatsPeriod = 'day') =>
  Object.values(await countsOf(table, period, 'service')).reduce((sum, count) => sum + count, 0);

describe('of a delivery', () => {
  const warn = jest.spyOn(log, 'warn');
  beforeEach(() => {
    nowMs = noon;
    warn.mockClear();
  });
  const one = executed();
  const line = (more: object) => ({ at: noon, message: JSON.stringify({ ...one, ...more }) });

  test.each<[string, { at: number; message: string }, object]>([
    ['no JSON', { at: noon, message: 'executed' }, { malformed: 1 }],
    ['an invalid id', line({ execution_id: '1' }), { malformed: 1 }],
    ['an unknown outcome', line({ outcome: 'FINE' }), { malformed: 1 }],
    ['an outcome that all objects have', line({ outcome: 'toString' }), { malformed: 1 }],
    ['a negative duration', line({ upstream_ms: -1 }), { malformed: 1 }],
    ['a time in more than five minutes', { ...lineOf(one), at: noon + 5 * minuteMs + 1 }, { in_future: 1 }],
    ['a time more than two days ago', { ...lineOf(one), at: noon - 2 * dayMs - 1 }, { too_old: 1 }],
  ])('a line with %s is left out and logged', async (_, bad, left) => {
    const table = openMemoryTable();
    const { deliver, rollUp } = open(table);
    await deliver([bad, lineOf(executed()), bad]);
    await rollUp();
    expect(await executionsOf(table, 'month')).toBe(1);
    const doubled = Object.fromEntries(Object.entries(left).map(([name, count]) => [name, 2 * count]));
    expect(warn.mock.calls).toEqual([['executions not counted', { malformed: 0, too_old: 0, in_future: 0, ...doubled }]]);
  });

  test.each<[string, number]>([
    ['in five minutes', noon + 5 * minuteMs],
    ['two days ago', noon - 2 * dayMs],
  ])('a line of %s is counted', async (_, at) => {
    const table = openMemoryTable();
    const { deliver, rollUp } = open(table);
    await deliver([lineOf(executed({ at }))]);
    nowMs += 6 * minuteMs;
    await rollUp();
    expect(await executionsOf(table, 'month')).toBe(1);
    expect(warn).not.toHaveBeenCalled();
  });

  test('a control message changes nothing', async () => {
    const table = openMemoryTable();
    await open(table).run(deliveryOf([{ at: noon, message: 'CWL CONTROL MESSAGE: Checking health of destination' }], 'CONTROL_MESSAGE'));
    expect([table.items(), warn.mock.calls]).toEqual([[], []]);
  });

  test.each<[string, unknown]>([
    ['data that is not compressed', { awslogs: { data: Buffer.from('{}').toString('base64') } }],
    ['no events', { awslogs: { data: deliveryOf([]).awslogs.data.slice(0, -8) } }],
  ])('%s is an error, so that Lambda repeats it', async (_, event) => {
    await expect(async () => open(openMemoryTable()).run(event)).rejects.toThrow();
  });
});

describe('executions are counted once', () => {
  test('from changed minutes only, although the minutes of an hour share a partition', async () => {
    const table = openMemoryTable();
    const { deliver, rollUp } = open(table);
    nowMs = noon + 3 * minuteMs;
    await deliver([0, 1, 2].map((minutes) => lineOf(executed({ at: noon + minutes * minuteMs }))));
    await rollUp();
    await deliver([lineOf(executed())]);
    const query = jest.spyOn(table, 'query');
    await rollUp();
    const pages = await Promise.all(query.mock.results.map(({ value }) => value as ReturnType<Table['query']>));
    const read = pages.flatMap(({ items }) => items).map(({ sk }) => String(sk));
    expect(read.filter((sk) => /T12:0[12]/.test(sk))).toEqual([]);
    expect(read.length).toBeGreaterThan(5);
    expect(await executionsOf(table)).toBe(4);
  });

  test('even if another of the same minute and partition arrives while they are added up', async () => {
    const table = openMemoryTable();
    const { deliver, rollUp } = open(table);
    nowMs = noon;
    const first = executed();
    await deliver([lineOf(first)]);
    const { delete: remove } = table;
    const beside = { ...first, execution_id: first.execution_id.replace(/^./, '1') };
    jest.spyOn(table, 'delete').mockImplementationOnce(async (...input) => {
      await deliver([lineOf(beside)]);
      return remove(...input);
    });
    await rollUp();
    await rollUp();
    expect(await executionsOf(table)).toBe(2);
  });

  /** The table of a process that may die before or after one of its writes, and that others may overtake. */
  function unsteady(table: Table, random: () => number): Table {
    let left = random() < 0.6 ? Math.floor(random() * 30) : Number.POSITIVE_INFINITY;
    const wait = async () => {
      for (let turns = random() < 0.03 ? 100 : Math.floor(random() * 4); turns > 0; turns--) await setImmediate();
    };
    const write =
      <I extends unknown[]>(take: (...input: I) => Promise<boolean>) =>
      async (...input: I): Promise<boolean> => {
        await wait();
        left--;
        if (left === 0 && random() < 0.5) await take(...input);
        if (left <= 0) throw new Error('the process has died');
        return take(...input);
      };
    const query: Table['query'] = async (...input) => {
      await wait();
      return table.query(...input);
    };
    return { ...table, put: write(table.put), delete: write(table.delete), query };
  }

  const pick = <T>(random: () => number, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;

  /** Simulates a morning: processes die, and deliveries are repeated, overlap and overtake each other. */
  async function play(table: Table, seed: number): Promise<Executed[]> {
    const random = seededRandom(seed);
    const all: Executed[] = [];
    nowMs = noon - 12 * hourMs + Math.floor(random() * 24) * hourMs;
    let waiting: Executed[][] = [];
    for (let step = 0; step < 12; step++) {
      nowMs += Math.floor(40 * minuteMs * random());
      const fresh = Array.from({ length: Math.floor(random() * 8) }, () =>
        executed({
          at: nowMs - Math.floor(random() * (random() < 0.2 ? 5 * hourMs : 2 * minuteMs)),
          agent_id: pick(random, ['a', 'b', 'c']),
          service_id: pick(random, ['s1', 's2', undefined]),
          outcome: pick(random, ['OK', 'NOT_FOUND'] as const),
        }),
      );
      all.push(...fresh);
      const repeated = all.filter(() => random() < 0.1);
      waiting.push(fresh.slice(0, 3), fresh.slice(2), repeated);
      const runs = waiting.toSorted(() => random() - 0.5);
      waiting = [];
      const attempt = async (events: Executed[] | undefined) => {
        const { deliver, rollUp } = open(unsteady(table, random));
        try {
          await (events ? deliver(events.map(lineOf)) : rollUp());
        } catch (error) {
          if ((error as Error).message !== 'the process has died') throw error;
          if (events) waiting.push(events);
        }
      };
      // several of them at the same time
      while (runs.length > 0) await Promise.all([undefined, undefined, ...runs.splice(0, 2)].map(attempt));
    }
    const { deliver, rollUp } = open(table);
    for (const events of waiting) await deliver(events.map(lineOf));
    await rollUp();
    return all;
  }

  /** The same, counted in the simplest way. */
  function countPlainly(all: readonly Executed[], slotMs: number, slots: number, by: StatsDimension): Record<string, number> {
    const first = (Math.floor(nowMs / slotMs) - slots + 1) * slotMs;
    const counts: Record<string, number> = {};
    for (const one of all) {
      if (one.at < first) continue;
      const name = `${new Date(Math.floor(one.at / slotMs) * slotMs).toISOString()} ${keyOf[by].map((member) => one[member]).join(' ')}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  const check = async (table: Table, seed: number) => {
    const all = await play(table, seed);
    for (const by of ['service', 'intent', 'agent'] as const) {
      const expected = {
        hour: countPlainly(all, 5 * minuteMs, 12, by),
        day: countPlainly(all, hourMs, 24, by),
        month: countPlainly(all, dayMs, 30, by),
      };
      for (const period of ['hour', 'day', 'month'] as const) {
        expect([seed, period, by, await countsOf(table, period, by)]).toEqual([seed, period, by, expected[period]]);
      }
    }
  };

  test('even if processes die at any write, in many mornings', async () => {
    for (let seed = 100; seed < 112; seed++) await check(openMemoryTable(), seed);
  });
});
