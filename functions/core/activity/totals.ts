import type { ErrorCode } from '../../../schemas/errors.ts';
import { latencyLimits, type StatsDimension } from '../../../schemas/stats.ts';
import type { Key } from '../table/keys.ts';
import type { Item } from '../table/table.ts';
import type { Executed } from './executed-lines.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * Totals per minute, hour and day: the length of a slot, and the retention of its totals, in milliseconds. Slots are summed from those of the level
 * below, which are therefore kept for longer than `countedMs`.
 */
export const levels = {
  minute: { slotMs: minuteMs, retentionMs: 4 * dayMs },
  hour: { slotMs: hourMs, retentionMs: 4 * dayMs, below: 'minute' },
  day: { slotMs: dayMs, retentionMs: 62 * dayMs, below: 'hour' },
} as const;

export type Level = keyof typeof levels;

export const dimensions = {
  service: ['service_id'],
  intent: ['service_id', 'intent_uid'],
  agent: ['service_id', 'agent_id'],
} as const satisfies Record<StatsDimension, readonly string[]>;

export const dimensionNames = Object.keys(dimensions) as StatsDimension[];

export interface Counted extends Item {
  executions: number;
  service_id?: string;
  intent_uid?: string;
  agent_id?: string;
  last_failure?: { at: number; code: 'OK' | ErrorCode; upstream_status?: number };
}

export type Totals = Key & Counted;

export const slotOf = (level: Level, atMs: number): number => Math.floor(atMs / levels[level].slotMs) * levels[level].slotMs;

const latencyName = (durationMs: number): string => {
  const at = latencyLimits.findIndex((limit) => durationMs <= limit);
  return `latency_${at < 0 ? latencyLimits.length : at}`;
};

/** Whether the service failed, or rejected the gate itself rather than this call. */
const isUpstreamFailure = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || [401, 403, 429].includes(status);

export function countOne({ at, outcome, upstream_host, upstream_status, upstream_ms, drift, ...names }: Executed): Counted {
  const { service_id, intent_uid, agent_id } = names;
  const isFailure = upstream_host !== undefined && isUpstreamFailure(upstream_status);
  return {
    ...(service_id !== undefined && { service_id }),
    ...(intent_uid !== undefined && { intent_uid }),
    agent_id,
    executions: 1,
    ...(outcome !== 'OK' && { [`refused_${outcome}`]: 1 }),
    ...(upstream_host !== undefined && { upstream_calls: 1 }),
    ...(isFailure && { upstream_failures: 1 }),
    ...(drift && { drift: 1 }),
    ...(upstream_ms !== undefined && { upstream_ms: Math.round(upstream_ms), [latencyName(upstream_ms)]: 1 }),
    ...(isFailure && { last_failure: { at, code: outcome, ...(upstream_status !== undefined && { upstream_status }) } }),
  };
}

const isCounter = (name: string): boolean => /^(executions|refused_.*|upstream_(calls|failures|ms)|drift|latency_\d)$/.test(name);

export function addUp(all: readonly Counted[]): Counted {
  const sum: Counted = { executions: 0 };
  for (const one of all) {
    for (const [name, value] of Object.entries(one)) if (isCounter(name)) sum[name] = Number(sum[name] ?? 0) + Number(value);
    if (one.last_failure && one.last_failure.at >= (sum.last_failure?.at ?? 0)) sum.last_failure = one.last_failure;
  }
  return sum;
}

/** Sums per value of a dimension. */
export function addUpBy(dimension: StatsDimension, all: readonly Counted[]): (Counted & { id: string })[] {
  const names = dimensions[dimension];
  const counted = dimension === 'intent' ? all.filter(({ intent_uid }) => intent_uid !== undefined) : all;
  const idOf = (one: Counted): string => names.map((name) => one[name] ?? '').join('#');
  return [...Map.groupBy(counted, idOf)].map(([id, own]) => ({
    id,
    ...Object.fromEntries(names.flatMap((name) => (own[0]?.[name] === undefined ? [] : [[name, own[0][name]]]))),
    ...addUp(own),
  }));
}
