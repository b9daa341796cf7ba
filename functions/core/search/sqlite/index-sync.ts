import { beyondInvocation } from '../../invocation.ts';
import type { Change, RegistryRecord } from '../../registry/records.ts';
import { ulidTimeMs } from '../../ulid.ts';
import type { RegistrySource } from '../registry-source.ts';
import type { SearchIndex } from './search-index.ts';

/** An index, and the moment from which on changes may be missing in it. */
export interface DatedIndex {
  index: SearchIndex;
  /** milliseconds since the epoch */
  asOfMs: number;
}

type Followed = Pick<DatedIndex, 'asOfMs'> & { index: Pick<SearchIndex, 'apply'> };

/** A change is announced before its record is written. No request lives longer than this, so no record comes later. */
const announcedAheadMs = 60_000;

/** The clocks of two writers differ by at most this: each may be half of it off. */
const clockDifferenceMs = 10_000;

/** An announcement may be seen this much later than one with a greater revision: the clocks' difference, and the time that it takes to arrive, rounded up. */
const outOfOrderMs = 15_000;

/** How many records are read and applied at a time. */
const batchSize = 100;

const keyOf = ({ rev, kind, id }: Change): string => `${rev} ${kind} ${id}`;

/**
 * Whether the write that a change announced has been seen, or will never be. Every write replaces the revision that its writer read,
 * so once a record has a revision that was certainly made after the announced one, the announced write has taken place or will be refused.
 */
function isSettled(change: Change, record: RegistryRecord | undefined, nowMs: number): boolean {
  const announcedMs = ulidTimeMs(change.rev);
  return (
    nowMs - announcedMs > announcedAheadMs ||
    record?.rev === change.rev ||
    (record !== undefined && ulidTimeMs(record.rev) > announcedMs + clockDifferenceMs)
  );
}

/**
 * Follows the changes of a registry.
 * @returns a function that brings the index up to date with the registry as of the call; calls must not overlap
 */
export function followChanges(source: RegistrySource, { index, asOfMs }: Followed, now: () => number = Date.now): () => Promise<void> {
  let fromMs = asOfMs - announcedAheadMs;
  let newestMs = 0;
  /** settled changes that a query may still return, with their times */
  const settled = new Map<string, number>();
  /** announced changes whose records are still awaited */
  const awaited = new Map<string, Change>();

  async function take(changes: Change[], nowMs: number): Promise<void> {
    for (let start = 0; start < changes.length; start += batchSize) {
      const batch = changes.slice(start, start + batchSize);
      const records = await source.readChanged(batch);
      index.apply(records.filter((record) => record !== undefined));
      for (const [at, change] of batch.entries()) {
        const key = keyOf(change);
        if (!isSettled(change, records[at], nowMs)) {
          awaited.set(key, change);
          continue;
        }
        awaited.delete(key);
        settled.set(key, ulidTimeMs(change.rev));
      }
    }
  }

  return async () => {
    const nowMs = now();
    await take([...awaited.values()], nowMs);
    for await (const page of source.changesSince(fromMs)) {
      for (const { rev } of page) newestMs = Math.max(newestMs, ulidTimeMs(rev));
      const unseen = page.filter((change) => !settled.has(keyOf(change)) && !awaited.has(keyOf(change)));
      await take(unseen, nowMs);
    }
    fromMs = Math.max(fromMs, newestMs - outOfOrderMs, nowMs - announcedAheadMs);
    for (const [key, timeMs] of settled) if (timeMs < fromMs) settled.delete(key);
  };
}

/**
 * Runs one call at a time. A call that arrives during a run waits for the next one, because the running one may have read before the
 * call arrived; all that wait share the next run, so it ends with none of them.
 */
export function oneAtATime<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const start = () => {
    next = undefined;
    const run_ = beyondInvocation(run);
    running = run_.catch(() => {});
    return run_;
  };
  return () => {
    next ??= running.then(start);
    return next;
  };
}
