/** Many instances of the gate over one table in simulated time: a minute passes in milliseconds, and a seed repeats a run. */
import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import { openCountingClock } from '../../functions/core/limit/counting-clock.ts';
import { openRateLimiter, type RateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { unavailable } from '../../functions/core/runtime/api-error.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { openTableClock } from '../../functions/core/table/table-clock.ts';
import { openMemoryTable } from '../world/memory-table.ts';
import { seededRandom } from './random.ts';

export interface SimulationOptions {
  /** how far the clock of each instance is ahead of the table's, in milliseconds */
  skewsMs: readonly number[];
  seed?: number;
  /** probability that a response is lost after the request took effect, 0 by default */
  lost?: number;
  /** probability that a write is throttled, 0 by default */
  throttled?: number;
  /** whether the table's responses have no date */
  hasNoDates?: boolean;
}

/** A time at which a bucket of every period begins. */
const startMs = Date.UTC(2026, 0, 1);

/** Duration of a one-way trip to the table, in milliseconds. */
const wayMs = { least: 1.5, more: 2 };

/** As in the table's client: three attempts, with exponential backoff and full jitter. */
const [maxAttempts, maxBackoffMs] = [3, 100];

export function startSimulation({ skewsMs, seed = 1, lost = 0, throttled = 0, hasNoDates = false }: SimulationOptions) {
  const random = seededRandom(seed);
  const store = openMemoryTable();
  const due: { timeMs: number; resume(): void }[] = [];
  let nowMs = startMs;
  const now = () => nowMs;

  const sleep = (ms: number) =>
    new Promise<void>((resume) => {
      const timeMs = nowMs + ms;
      const at = due.findLastIndex((other) => other.timeMs <= timeMs) + 1;
      due.splice(at, 0, { timeMs, resume });
    });

  /** Lets time pass until this moment. */
  async function runUntil(endMs: number): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = due[0];
      if (next === undefined || next.timeMs > endMs) break;
      due.shift();
      nowMs = next.timeMs;
      next.resume();
    }
    nowMs = endMs;
  }

  const travel = () => sleep(wayMs.least + random() * wayMs.more);

  /** operations that reached the table, for each instance */
  const operations = skewsMs.map(() => 0);
  const open = (skewMs: number, instance: number): RateLimiter => {
    const ownMs = () => nowMs + skewMs;
    const clock = openTableClock(ownMs);

    async function reach<T>(operate: () => Promise<T>, isWrite = true): Promise<T> {
      let cause: Error | undefined;
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        if (attempt > 0) await sleep(random() * maxBackoffMs * 2 ** (attempt - 1));
        cause = isWrite && random() < throttled ? new ProvisionedThroughputExceededException({ message: '', $metadata: {} }) : undefined;
        const sentMs = ownMs();
        await travel();
        operations[instance] = (operations[instance] ?? 0) + 1;
        const answer = cause ? undefined : await operate();
        const date = new Date(nowMs).toUTCString();
        await travel();
        if (cause || random() < lost) continue;
        clock.observe({ sentMs, receivedMs: ownMs(), headers: hasNoDates ? {} : { date } });
        return answer as T;
      }
      throw unavailable(
        'The database of the gate cannot be reached. Try again after Retry-After; if you were changing something, first check whether it was changed.',
        cause,
      );
    }

    const table: Table = {
      ...store,
      get: (key) => reach(() => store.get(key), false),
      put: (item, condition) => reach(() => store.put(item, condition)),
      update: (key, input) => reach(() => store.update(key, input)),
    };
    return openRateLimiter(table, openCountingClock(clock, ownMs));
  };

  return { now, random, sleep, instances: skewsMs.map(open), operations, runUntil };
}
