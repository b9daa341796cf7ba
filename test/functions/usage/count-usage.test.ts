import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Executed } from '../../../functions/core/activity/history.ts';
import { log } from '../../../functions/core/runtime/log.ts';
import { newUlid } from '../../../functions/core/runtime/ulid.ts';
import type { Table } from '../../../functions/core/table/table.ts';
import { createAction } from '../../../functions/usage/count-usage.ts';
import { openExecutionStats, toRows } from '../../../functions/usage/stats.ts';
import { maxAgents, openSums } from '../../../functions/usage/totals.ts';
import { leaseMs, openUsage } from '../../../functions/usage/usage.ts';
import type { StatsDimension, StatsPeriod } from '../../../schemas/usage/stats.ts';
import { deliveryOf, lineOf } from '../../support/executed-lines.ts';
import { seededRandom } from '../../support/random.ts';
import { openMemoryTable } from '../../world/memory-table.ts';

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const noon = Date.parse('2026-03-01T12:00:00Z');

let nowMs = noon;
const now = () => nowMs;
const open = (table: Table) => {
  const action = createAction({ usage: openUsage(table, now), now });
  const run = (event: unknown, remainingMs = () => 300_000) => action(event, remainingMs);
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

describe('deliveries', () => {
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
  ])('a line with a time %s is counted', async (_, at) => {
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
  test('executions are counted once from changed minutes only, although the minutes of an hour share a partition', async () => {
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

  test('executions are counted once even if another of the same minute and partition arrives while they are added up', async () => {
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
      <I extends unknown[], R>(take: (...input: I) => Promise<R>) =>
      async (...input: I): Promise<R> => {
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
    const update = write(table.update as (...input: unknown[]) => Promise<unknown>) as Table['update'];
    // a batch may have been made in part
    const writeAll: Table['writeAll'] = async (writes) => {
      for (const one of writes) await writeOne([one]);
    };
    const writeOne = write(table.writeAll);
    return { ...table, put: write(table.put), delete: write(table.delete), update, writeAll, query };
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
      while (runs.length > 0) {
        const some = [undefined, undefined, ...runs.splice(0, 2)].map(attempt);
        // runs that have died, or are slow, are overtaken
        nowMs += leaseMs + 1;
        await Promise.all([...some, attempt(undefined)]);
      }
    }
    const { deliver, rollUp } = open(table);
    for (const events of waiting) await deliver(events.map(lineOf));
    nowMs += leaseMs + 1;
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

  test('executions are counted once even if processes die at any write, in many mornings', async () => {
    for (let seed = 100; seed < 112; seed++) await check(openMemoryTable(seed % 2 === 0 ? 3 : undefined), seed);
  });
});

describe('a run that rolls up', () => {
  const info = jest.spyOn(log, 'info');
  const lines = () => info.mock.calls.filter(([message]) => message === 'counted executions').map(([, members]) => members);
  beforeEach(() => {
    nowMs = noon + 10 * minuteMs;
    info.mockClear();
  });

  /** Five minutes with three executions each. */
  const deliverFive = async (table: Table) =>
    open(table).deliver(Array.from({ length: 15 }, (_, at) => lineOf(executed({ at: noon + Math.floor(at / 3) * minuteMs }))));

  test('a run that rolls up excludes others, which write nothing and log the oldest minute', async () => {
    const table = openMemoryTable();
    await deliverFive(table);
    const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
    const { promise: paused, resolve: pause } = Promise.withResolvers<void>();
    const put: Table['put'] = async (...input) => {
      pause();
      await resumed;
      return table.put(...input);
    };
    const slow = open({ ...table, put }).rollUp();
    await paused;
    const before = table.items();
    await open(table).rollUp();
    expect([table.items(), lines()]).toEqual([before, [{ executions: 0, oldest_seconds: 600 }]]);
    resume();
    await slow;
    expect(lines().at(-1)).toEqual({ executions: 15, oldest_seconds: 0 });
    expect(await executionsOf(table)).toBe(15);
  });

  test.each<{ what: string; pages: number; counted: number; oldestMinute: number }>([
    { what: 'before its first page', pages: 0, counted: 0, oldestMinute: 10 },
    { what: 'within the first minute', pages: 4, counted: 0, oldestMinute: 10 },
    { what: 'within the third minute', pages: 28, counted: 6, oldestMinute: 8 },
  ])('a run that rolls up and is out of time $what leaves the rest to the next one', async ({ pages, counted, oldestMinute }) => {
    const table = openMemoryTable(1);
    await deliverFive(table);
    let asked = 0;
    await open(table).run({}, () => (asked++ < pages ? 60_000 : 30_000));
    expect(lines()).toEqual([{ executions: counted, oldest_seconds: oldestMinute * 60 }]);
    expect(await executionsOf(table)).toBe(counted);
    await open(table).rollUp();
    expect(lines().at(-1)).toEqual({ executions: 15 - counted, oldest_seconds: 0 });
    expect(await executionsOf(table)).toBe(15);
  });

  test('a run that rolls up and fails logs the oldest minute and gives its lease back', async () => {
    const table = openMemoryTable();
    await deliverFive(table);
    const query: Table['query'] = (pk, input) => {
      if (/T12:00#0/.test(pk)) throw new Error('the table is away');
      return table.query(pk, input);
    };
    await expect(open({ ...table, query }).rollUp()).rejects.toThrow('the table is away');
    expect(lines()).toEqual([{ executions: 0, oldest_seconds: 600 }]);
    await open(table).rollUp();
    expect(await executionsOf(table)).toBe(15);
  });

  test.each(['before', 'after'] as const)('a run that rolls up and dies %s any operation loses and duplicates nothing', async (when) => {
    for (let step = 0; ; step++) {
      nowMs = noon + 10 * minuteMs;
      const table = openMemoryTable(2);
      await deliverFive(table);
      let steps = 0;
      const dying =
        (name: 'query' | 'put' | 'update' | 'delete') =>
        async (...input: unknown[]): Promise<unknown> => {
          const run = table[name] as (...input: unknown[]) => Promise<unknown>;
          const isHere = steps++ === step;
          if (isHere && when === 'after') await run(...input);
          if (steps > step) throw new Error('the process has died');
          return run(...input);
        };
      const died = { ...table, query: dying('query'), put: dying('put'), update: dying('update'), delete: dying('delete') } as Table;
      const isOver = await open(died)
        .rollUp()
        .then(
          () => true,
          () => false,
        );
      nowMs += leaseMs + 1;
      await open(table).rollUp();
      expect([step, await executionsOf(table, 'hour'), await executionsOf(table)]).toEqual([step, 15, 15]);
      if (isOver) return expect(step).toBeGreaterThan(80);
    }
  });

  test('a run that rolls up reads pages of at most 1,000 executions, one per partition', async () => {
    const table = openMemoryTable();
    await open(table).deliver([lineOf(executed())]);
    const query = jest.spyOn(table, 'query');
    await open(table).rollUp();
    const ofExecutions = query.mock.calls.filter(([pk]) => pk.startsWith('USAGE#2026'));
    expect(ofExecutions.map(([, input]) => input?.limit)).toEqual(Array.from({ length: 8 }, () => 1_000));
  });
});

describe('more agents than have totals of their own', () => {
  const agents = (count: number, more: (at: number) => Partial<Executed> = () => ({})) =>
    Array.from({ length: count }, (_, at) => executed({ agent_id: `agent-${at}`, ...more(at) }));

  const rowsOf = (table: ReturnType<typeof openMemoryTable>, level: string) =>
    table.items().filter(({ pk }) => pk.startsWith(`STATS#${level}#agent#`)) as unknown as {
      agent_id?: string;
      service_id: string;
      executions: number;
    }[];

  const sumsOf = async (table: Table, period: StatsPeriod) => {
    const { totals } = await openExecutionStats(table, now).read(period, 'agent');
    const rows = toRows(totals, ['service_id']);
    return Object.fromEntries(rows.map(({ service_id, executions }) => [service_id, executions]));
  };

  beforeEach(() => {
    nowMs = noon + 2 * minuteMs;
  });

  test('agents beyond those with their own totals share one per service, and every execution counts once at each level', async () => {
    const table = openMemoryTable();
    const crowd = agents(1_500, (at) => ({ service_id: at % 2 === 0 ? 's1' : 's2' }));
    const busy = Array.from({ length: 30 }, (_, at) => executed({ agent_id: `zz-busy-${at % 3}` }));
    await open(table).deliver([...crowd, ...busy].map(lineOf));
    await open(table).rollUp();
    const rows = rowsOf(table, 'minute');
    expect(rows).toHaveLength(maxAgents + 2);
    expect(rows.filter(({ agent_id }) => agent_id?.startsWith('zz-busy')).map(({ executions }) => executions)).toEqual([10, 10, 10]);
    expect(await sumsOf(table, 'hour')).toEqual({ s1: 780, s2: 750 });
    nowMs += 24 * hourMs;
    await open(table).rollUp();
    expect(rowsOf(table, 'hour')).toHaveLength(maxAgents + 2);
    expect(await sumsOf(table, 'month')).toEqual({ s1: 780, s2: 750 });
  });

  test('agents keep the totals that they have, whoever comes later', async () => {
    const table = openMemoryTable();
    await open(table).deliver(agents(maxAgents).map(lineOf));
    await open(table).rollUp();
    const later = Array.from({ length: 40 }, (_, at) => executed({ agent_id: `later-${at % 2}`, service_id: 's2' }));
    await open(table).deliver([...later, ...agents(3)].map(lineOf));
    await open(table).rollUp();
    const rows = rowsOf(table, 'minute');
    expect(rows.filter(({ agent_id }) => agent_id === undefined)).toEqual([expect.objectContaining({ service_id: 's2', executions: 40 })]);
    expect(rows.find(({ agent_id }) => agent_id === 'agent-2')).toMatchObject({ executions: 2 });
    expect(await sumsOf(table, 'hour')).toEqual({ s1: 1_003, s2: 40 });
  });

  test('executions of shared totals count once if a run dies between its writes, and others arrive before the next', async () => {
    for (const [seed, writes] of [3, 400, 999, 1_001, 1_004, 1_005, 1_006, 1_007].entries()) {
      const table = openMemoryTable();
      const random = seededRandom(seed);
      const some = () =>
        agents(1_400, () => ({ agent_id: `agent-${Math.floor(random() * 3_000)}`, service_id: random() < 0.5 ? 's1' : 's2' }));
      const [first, second] = [some(), some()];
      await open(table).deliver(first.map(lineOf));
      let left = writes;
      const put: Table['put'] = (...input) => {
        if (left-- <= 0) throw new Error('the process has died');
        return table.put(...input);
      };
      await open({ ...table, put })
        .rollUp()
        .catch(() => {});
      await open(table).deliver(second.map(lineOf));
      nowMs += leaseMs + 1;
      await open(table).rollUp();
      const all = [...first, ...second];
      const expected = Object.fromEntries(['s1', 's2'].map((id) => [id, all.filter(({ service_id }) => service_id === id).length]));
      expect([writes, await sumsOf(table, 'hour')]).toEqual([writes, expected]);
    }
  });

  test('the agents with totals are chosen once their minute is over, so that nobody who comes first keeps out who calls most', async () => {
    const table = openMemoryTable();
    nowMs = noon + 20_000;
    await open(table).deliver(agents(maxAgents + 1).map(lineOf));
    await open(table).rollUp();
    expect(rowsOf(table, 'minute')).toEqual([]);
    await open(table).deliver(Array.from({ length: 50 }, () => lineOf(executed({ agent_id: 'busy' }))));
    nowMs = noon + 2 * minuteMs;
    await open(table).rollUp();
    const rows = rowsOf(table, 'minute');
    expect(rows).toHaveLength(maxAgents + 1);
    expect(rows.find(({ agent_id }) => agent_id === 'busy')).toMatchObject({ executions: 50 });
    expect(await sumsOf(table, 'hour')).toEqual({ s1: maxAgents + 51 });
  });

  test('the agents with totals are chosen by their calls, however many agents came before', () => {
    const sums = openSums('agent', []);
    for (let at = 0; at < 45_000; at++) sums.add({ executions: 1, service_id: 's1', agent_id: `once-${at}` });
    for (let at = 0; at < 100; at++) sums.add({ executions: 1, service_id: 's1', agent_id: 'busy' });
    const totals = sums.totals();
    expect(totals.find(({ agent_id }) => agent_id === 'busy')).toMatchObject({ executions: 100 });
    expect(totals).toHaveLength(maxAgents + 1);
    expect(totals.reduce((sum, { executions }) => sum + executions, 0)).toBe(45_100);
  });
});
