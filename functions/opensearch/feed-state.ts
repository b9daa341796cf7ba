import type { LogPosition } from '../core/search/registry-source.ts';
import { beginRun } from '../core/table/leases.ts';
import type { Table } from '../core/table/table.ts';
import { feedKey } from './records.ts';

/** Times are in milliseconds since the epoch. */
export interface FeedProgress {
  /** position in the log; during a fill, the head when the fill began */
  seen: LogPosition;
  /** recently deleted services and when they were fed; some of their intents may not be visible to searches yet */
  deleted?: Record<string, number>;
  /** an incomplete fill: cursor of its next page, number of intents written, and start time */
  fill?: { cursor?: string | undefined; intents: number; startMs: number };
}

/** When a run counts as dead, in milliseconds: the timeout of the feed's function plus 10 seconds for clock skew. */
export const maxRunMs = 310_000;

/**
 * Opens the progress of a collection's feed. Only one run is active at a time.
 * @param collection - id of the collection; a new one is filled from the beginning
 */
export function openFeedState(table: Table, collection: string, now: () => number = Date.now) {
  const key = feedKey(collection);

  return {
    /** @returns undefined if another run is active */
    async begin() {
      const run = await beginRun<{ progress?: FeedProgress }>(table, key, maxRunMs, now);
      return (
        run && {
          /** greater than that of every earlier run */
          number: run.item.run_number,
          /** progress of earlier runs; undefined before the first */
          progress: run.item.progress,
          /** @throws RunOvertaken */
          save: (progress: FeedProgress) => run.save({ progress }),
          end: run.end,
        }
      );
    },
  };
}

export type FeedState = ReturnType<typeof openFeedState>;

export type FeedRun = NonNullable<Awaited<ReturnType<FeedState['begin']>>>;
