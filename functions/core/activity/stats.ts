import { type ErrorCode, errorTable } from '../../../schemas/errors.ts';
import { latencyLimits, type ServiceStats, type StatsPeriod } from '../../../schemas/stats.ts';
import { ApiError } from '../api-error.ts';
import { log } from '../log.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

/** What became of one request to execute an intent. */
export interface CountedExecution {
  /** none if it named no intent that exists */
  serviceId?: string | undefined;
  outcome: 'OK' | ErrorCode;
  /** none if no endpoint was called, as for an answer that was kept under an idempotency key */
  upstream?: { status: number | undefined; durationMs: number | undefined } | undefined;
  /** the upstream's answer did not match the intent's output_parameters */
  hasDrifted?: boolean | undefined;
}

/** The numbers of executions: counters for each hour and each day, of each service. */
export interface ExecutionStats {
  /** Counts one; never fails, and takes part in a write once a minute. */
  count(execution: CountedExecution): Promise<void>;
  /** The numbers of the last 24 hours or 30 days, by service. */
  read(period: StatsPeriod): Promise<{ from: string; services: (Omit<ServiceStats, 'service_name'> & { service_id: string })[] }>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How often an instance writes what it has counted, in milliseconds. */
const writeEveryMs = 60_000;

/** How long counters are kept: those of hours and those of days, in milliseconds. */
const keptMs = { day: 3 * dayMs, month: 62 * dayMs };

const slotMs: Record<StatsPeriod, number> = { day: hourMs, month: dayMs };
const slotCount: Record<StatsPeriod, number> = { day: 24, month: 30 };
const periods = ['day', 'month'] as const;

/** What is counted in one slot of one service: counters by their names in the item. */
interface Counted {
  counters: Map<string, number>;
  failure?: { at: number; code: string; upstream_status?: number };
}

const latencyName = (durationMs: number): string => {
  const at = latencyLimits.findIndex((limit) => durationMs <= limit);
  return `latency_${at < 0 ? latencyLimits.length : at}`;
};

/** Whether the service failed, rather than refused this call: it did not answer, it broke down, or it does not accept the gate itself. */
const isUpstreamFailure = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || [401, 403, 429].includes(status);

/** The counters that an execution adds to. */
function countersOf({ outcome, upstream, hasDrifted }: CountedExecution, isFailure: boolean): Record<string, number> {
  const { durationMs } = upstream ?? {};
  return {
    executions: 1,
    ...(outcome !== 'OK' && { [`refused_${outcome}`]: 1 }),
    ...(upstream && { upstream_calls: 1 }),
    ...(isFailure && { upstream_failures: 1 }),
    ...(hasDrifted && { drift: 1 }),
    ...(durationMs !== undefined && { upstream_ms: Math.round(durationMs), [latencyName(durationMs)]: 1 }),
  };
}

/**
 * Counts in memory, and adds what was counted to the table's counters with the first execution and then at most once a minute. So an instance
 * that ends takes along what it has counted since it wrote last, which is at most a minute of a busy instance, or what came within a
 * minute after the last write of one that is then asked no more.
 */
export function openExecutionStats(table: Table, now: () => number = Date.now): ExecutionStats {
  let counted = new Map<string, Counted>();
  let writtenMs = Number.NEGATIVE_INFINITY;

  async function write(): Promise<void> {
    const writing = counted;
    counted = new Map();
    for (const [name, slot] of writing) {
      const [serviceId = '', hour] = name.split('#');
      for (const period of periods) {
        const slotStart = Math.floor(Number(hour) / slotMs[period]) * slotMs[period];
        await add(table, keys.stats(period, slotStart, serviceId), slot, Math.ceil((slotStart + keptMs[period]) / 1000));
      }
    }
  }

  return {
    count: async (execution) => {
      const nowMs = now();
      const { serviceId = '', upstream, outcome } = execution;
      const isFailure = upstream !== undefined && isUpstreamFailure(upstream.status);
      const name = `${serviceId}#${Math.floor(nowMs / hourMs) * hourMs}`;
      const slot: Counted = counted.get(name) ?? { counters: new Map() };
      counted.set(name, slot);
      for (const [counter, amount] of Object.entries(countersOf(execution, isFailure)))
        slot.counters.set(counter, (slot.counters.get(counter) ?? 0) + amount);
      if (isFailure)
        slot.failure = { at: nowMs, code: outcome, ...(upstream.status !== undefined && { upstream_status: upstream.status }) };
      if (nowMs - writtenMs < writeEveryMs) return;
      writtenMs = nowMs;
      try {
        await write();
      } catch (error) {
        // The numbers are for people to look at: an execution does not fail for them.
        if (!(error instanceof ApiError)) throw error;
        log.warn('not counted', { code: error.code });
      }
    },

    read: async (period) => {
      const lastSlot = Math.floor(now() / slotMs[period]) * slotMs[period];
      const firstSlot = lastSlot - (slotCount[period] - 1) * slotMs[period];
      const all = Array.from({ length: slotCount[period] }, (_, at) => firstSlot + at * slotMs[period]);
      const partitions = [...new Set(all.map((slot) => keys.stats(period, slot, '').pk))];
      const items = (await Promise.all(partitions.map((pk) => readPartition(table, pk)))).flat();
      const slots = items.map(toSlot).filter(({ fromMs }) => fromMs >= firstSlot && fromMs <= lastSlot);
      const services = [...Map.groupBy(slots, ({ serviceId }) => serviceId)].map(([service_id, own]) => {
        const ordered = own.toSorted((one, other) => one.fromMs - other.fromMs);
        const failure = ordered.findLast(({ last_failure }) => last_failure)?.last_failure;
        return {
          service_id,
          ...sum(ordered.map(({ numbers }) => numbers)),
          ...(failure && { last_failure: failure }),
          slots: ordered.map(({ fromMs, numbers }) => ({ from: toDateTime(fromMs), ...numbers })),
        };
      });
      return { from: toDateTime(firstSlot), services };
    },
  };
}

/** Adds to the counters of one slot. */
async function add(table: Table, key: Key, { counters, failure }: Counted, expiresAt: number): Promise<void> {
  await table.update(key, { add: [...counters], set: { expires_at: expiresAt, last_failure: failure || undefined }, isQuiet: true });
}

async function readPartition(table: Table, pk: string): Promise<(Key & Item)[]> {
  const items: (Key & Item)[] = [];
  let from: Key | undefined;
  do {
    const page = await table.query<Key & Item>(pk, { start: from });
    items.push(...page.items);
    from = page.lastKey;
  } while (from);
  return items;
}

type Numbers = Omit<ServiceStats, 'service_id' | 'service_name' | 'last_failure' | 'slots'>;

function toSlot(item: Key & Item): {
  serviceId: string;
  fromMs: number;
  numbers: Numbers;
  last_failure?: NonNullable<ServiceStats['last_failure']>;
} {
  const [from = '', serviceId = ''] = item.sk.split('#');
  const counter = (name: string): number => (typeof item[name] === 'number' ? item[name] : 0);
  const failure = item.last_failure as Counted['failure'];
  const codes = Object.keys(errorTable).filter((code) => counter(`refused_${code}`) > 0);
  return {
    serviceId,
    fromMs: Date.parse(from),
    numbers: {
      executions: counter('executions'),
      refusals: Object.fromEntries(codes.map((code) => [code, counter(`refused_${code}`)])),
      upstream_calls: counter('upstream_calls'),
      upstream_failures: counter('upstream_failures'),
      drift: counter('drift'),
      upstream_ms: counter('upstream_ms'),
      latency: [...latencyLimits, 0].map((_, at) => counter(`latency_${at}`)),
    },
    ...(failure && { last_failure: { ...failure, at: toDateTime(failure.at) } }),
  };
}

function sum(all: readonly Numbers[]): Numbers {
  const total = (of: (numbers: Numbers) => number) => all.reduce((soFar, numbers) => soFar + of(numbers), 0);
  const codes = new Set(all.flatMap(({ refusals }) => Object.keys(refusals)));
  return {
    executions: total(({ executions }) => executions),
    refusals: Object.fromEntries([...codes].map((code) => [code, total(({ refusals }) => refusals[code] ?? 0)])),
    upstream_calls: total(({ upstream_calls }) => upstream_calls),
    upstream_failures: total(({ upstream_failures }) => upstream_failures),
    drift: total(({ drift }) => drift),
    upstream_ms: total(({ upstream_ms }) => upstream_ms),
    latency: [...latencyLimits, 0].map((_, at) => total(({ latency }) => latency[at] ?? 0)),
  };
}

const toDateTime = (timeMs: number): string => new Date(timeMs).toISOString();
