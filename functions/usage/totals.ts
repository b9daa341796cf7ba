import type { ErrorCode } from '../../schemas/errors.ts';
import { latencyLimits, type StatsDimension } from '../../schemas/usage/stats.ts';
import type { Executed } from '../core/activity/history.ts';
import type { Key } from '../core/table/keys.ts';
import type { Item } from '../core/table/table.ts';

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
  /** holders of the PATs under which an intent was called: some of them, up to {@link minAgents} */
  callers?: string[];
  last_failure?: { at: number; code: 'OK' | ErrorCode; upstream_status?: number };
}

/** Number of agents from which on it is reported how the calls of an intent have fared. */
export const minAgents = 3;

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
  const { service_id, intent_uid, agent_id, holder = agent_id } = names;
  const isFailure = upstream_host !== undefined && isUpstreamFailure(upstream_status);
  return {
    ...(service_id !== undefined && { service_id }),
    ...(intent_uid !== undefined && { intent_uid }),
    agent_id,
    executions: 1,
    ...(outcome !== 'OK' && { [`refused_${outcome}`]: 1 }),
    ...(upstream_host !== undefined && { upstream_calls: 1, callers: [holder] }),
    ...(isFailure && { upstream_failures: 1 }),
    ...(drift && { drift: 1 }),
    ...(upstream_ms !== undefined && { upstream_ms: Math.round(upstream_ms), [latencyName(upstream_ms)]: 1 }),
    ...(isFailure && { last_failure: { at, code: outcome, ...(upstream_status !== undefined && { upstream_status }) } }),
  };
}

const isCounter = (name: string): boolean => /^(executions|refused_.*|upstream_(calls|failures|ms)|drift|latency_\d)$/.test(name);

/** Caches {@link isCounter} by name: there are few names, and millions of executions. */
const counters = new Map<string, boolean>();

function addTo(sum: Counted, one: Counted): void {
  for (const name in one) {
    const counts = counters.get(name) ?? isCounter(name);
    counters.set(name, counts);
    if (counts) sum[name] = ((sum[name] as number | undefined) ?? 0) + (one[name] as number);
  }
  if (one.callers && sum.intent_uid === one.intent_uid)
    sum.callers = [...new Set([...(sum.callers ?? []), ...one.callers])].slice(0, minAgents);
  if (one.last_failure && one.last_failure.at >= (sum.last_failure?.at ?? 0)) sum.last_failure = one.last_failure;
}

export function addUp(all: readonly Counted[]): Counted {
  const sum: Counted = { executions: 0 };
  for (const one of all) addTo(sum, one);
  return sum;
}

/** Maximum number of pairs of an agent and a service with totals of their own in one slot. The other agents of a service share one. */
export const maxAgents = 1_000;

/** Whether totals are shared by agents. */
export const isShared = (dimension: StatsDimension, { agent_id }: Counted): boolean => dimension === 'agent' && agent_id === undefined;

/** Maximum number of agents that are distinguished while a slot is added up: those with most executions are chosen from them. */
const maxTracked = 20 * maxAgents;

/**
 * Adds up executions or totals by the values of a dimension. Its memory depends on the number of values, which is bounded.
 * @param present - totals that the slot has already. Each keeps its own, so that no execution moves from one to another
 */
export function openSums(dimension: StatsDimension, present: readonly Counted[]) {
  const names: readonly (keyof Counted & string)[] = dimensions[dimension];
  const sums = new Map<string, Counted>();
  const idOf = (one: Counted): string => names.map((name) => one[name] ?? '').join('#');
  const known = new Set(present.filter((one) => !isShared(dimension, one)).map(idOf));

  const sumOf = (one: Counted): Counted => {
    const id = idOf(one);
    let sum = sums.get(id);
    if (sum === undefined) {
      sum = { executions: 0 };
      for (const name of names) if (one[name] !== undefined) sum[name] = one[name];
      sums.set(id, sum);
    }
    return sum;
  };
  /** Lets the half of the agents with fewest executions share totals, except those that keep their own. */
  function fold(): void {
    const own = [...sums.values()].filter((sum) => !isShared(dimension, sum) && !known.has(idOf(sum)));
    own.sort((one, other) => one.executions - other.executions);
    for (const sum of own.slice(0, own.length / 2)) share(sum);
  }

  function share(sum: Counted): void {
    sums.delete(idOf(sum));
    addTo(sumOf(rest(sum)), sum);
  }

  const rest = ({ service_id }: Counted): Counted => ({ executions: 0, ...(service_id !== undefined && { service_id }) });
  for (const one of present) sumOf(one);

  return {
    add(one: Counted): void {
      if (dimension === 'intent' && one.intent_uid === undefined) return;
      if (dimension === 'agent' && sums.size >= maxTracked + known.size && !sums.has(idOf(one))) fold();
      addTo(sumOf(one), one);
    },

    /** Whether some agents have to share totals. */
    isCrowded: (): boolean => dimension === 'agent' && sums.size > Math.max(maxAgents, known.size),

    /** The totals: those of the busiest agents, and of all whose totals are present. Store the shared ones last, once the agents with totals of their own are fixed. */
    totals(): (Counted & { id: string })[] {
      if (dimension === 'agent') {
        const isPresent = (sum: Counted): number => Number(known.has(idOf(sum)));
        const own = [...sums.values()]
          .filter((sum) => !isShared(dimension, sum))
          .sort((one, other) => isPresent(other) - isPresent(one) || other.executions - one.executions);
        for (const sum of own.slice(Math.max(maxAgents, known.size))) share(sum);
      }
      return [...sums].map(([id, sum]) => ({ id, ...sum }));
    },
  };
}
