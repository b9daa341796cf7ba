import { latencyLimits } from '../../schemas/usage/stats.ts';
import { pack, unpack } from '../core/json/pack.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { log } from '../core/runtime/log.ts';
import type { ReadHealth, ReportedHealth } from '../core/search/search-engine.ts';
import type { Item, Table } from '../core/table/table.ts';
import { readUsageEnvironment } from './environment.ts';
import { usageKeys } from './records.ts';
import { openExecutionStats } from './stats.ts';
import { addUp, type Counted, minAgents } from './totals.ts';

/** An intent is reported from this many calls by {@link minAgents} agents on, so that nobody is seen in the numbers. */
const minCalls = 20;

/** The intents with most calls that are reported. One record holds them all. */
const maxIntents = 5_000;

const cachedMs = 60_000;

const halfHourMs = 30 * 60_000;

/** Health outlives its last summary by this many milliseconds: after that, nothing is reported. */
const lifeMs = 60 * 60_000;

interface HealthItem extends Item {
  /** milliseconds since the epoch */
  at: number;
  packed: Uint8Array;
}

const countOf = (sum: Counted, name: string): number => Number(sum[name] ?? 0);

/** An upper bound of the 95th percentile, in milliseconds; undefined without an answer, or if it is beyond the largest bucket. */
function boundOfP95(sum: Counted): number | undefined {
  const counts = [...latencyLimits, 0].map((_, at) => countOf(sum, `latency_${at}`));
  const countUpTo = (end: number): number => counts.slice(0, end).reduce((total, count) => total + count, 0);
  const answered = countUpTo(counts.length);
  return answered === 0 ? undefined : latencyLimits.find((_, at) => countUpTo(at + 1) >= 0.95 * answered);
}

/** How the calls of intents have fared in the last 24 hours. */
export function openHealth(table: Pick<Table, 'get' | 'put' | 'query'>, now: () => number = Date.now) {
  let known: { readMs: number; intents: Map<string, ReportedHealth> } | undefined;

  return {
    /** Summarises the totals of the last 24 hours. */
    async summarise(): Promise<void> {
      const stats = openExecutionStats(table as Table, now);
      const [day, hour] = [await stats.read('day', 'intent'), await stats.read('hour', 'intent')];
      const lastHour = Map.groupBy(hour.totals, ({ intent_uid }) => intent_uid);
      const halfMs = Date.parse(hour.from) + halfHourMs;
      /** whether all calls of the last hour have failed, some of them in each half of it */
      const isFailing = (uid: string | undefined): boolean => {
        const own = (lastHour.get(uid) ?? []).filter((one) => countOf(one, 'upstream_calls') > 0);
        const hasOnlyFailures = own.every((one) => countOf(one, 'upstream_calls') === countOf(one, 'upstream_failures'));
        return hasOnlyFailures && own.some(({ slot }) => slot < halfMs) && own.some(({ slot }) => slot >= halfMs);
      };
      const reported = [...Map.groupBy(day.totals, ({ intent_uid }) => intent_uid)].flatMap(([uid, own]) => {
        const sum = addUp(own);
        const calls = countOf(sum, 'upstream_calls');
        const callers = new Set(own.flatMap((one) => one.callers ?? []));
        if (calls < minCalls || callers.size < minAgents) return [];
        const p95_ms = boundOfP95(sum);
        const health = { calls, failures: countOf(sum, 'upstream_failures'), ...(p95_ms !== undefined && { p95_ms }), since: day.from };
        return [[uid, { health, isFailing: isFailing(uid) }] as const];
      });
      reported.sort(([, one], [, other]) => other.health.calls - one.health.calls);
      const packed = await pack(reported.slice(0, maxIntents));
      const at = now();
      await table.put({ ...usageKeys.health(), at, packed, expires_at: Math.ceil((at + lifeMs) / 1_000) });
    },

    /** Reads the summary at most once a minute. If it cannot be read, nothing is reported. */
    read: (async () => {
      if (!known || now() - known.readMs >= cachedMs) {
        const item = await table.get<HealthItem>(usageKeys.health()).catch((error: unknown) => {
          if (!(error instanceof ApiError)) throw error;
          log.warn('the health of intents cannot be read', { cause: error.message });
          return undefined;
        });
        const isCurrent = item !== undefined && now() - item.at < lifeMs;
        known = { readMs: now(), intents: new Map(isCurrent ? ((await unpack(item.packed)) as [string, ReportedHealth][]) : []) };
      }
      const { intents } = known;
      return (uid) => intents.get(uid);
    }) satisfies ReadHealth,
  };
}

export type Health = ReturnType<typeof openHealth>;

const isShown = (): boolean => readUsageEnvironment([], ['showHealth']).showHealth === 'true';

/** @returns undefined without the setting `showHealth` */
export const healthFromEnvironment = (table: Table): Health | undefined => (isShown() ? openHealth(table) : undefined);

export const readHealthFromEnvironment = (table: Table): ReadHealth | undefined => healthFromEnvironment(table)?.read;
