import type { Update } from '../../table/expression.ts';
import { keys } from '../../table/keys.ts';
import type { Table } from '../../table/table.ts';
import type { LogPosition } from '../registry-source.ts';

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
  const key = keys.feed(collection);

  const update = (run: number, change: Update) => table.update(key, { ...change, when: [['=', 'run_number', run]], isQuiet: true });

  return {
    /** @returns undefined if another run is active */
    async begin() {
      const item = await table.update<{ run_number: number; progress?: FeedProgress }>(key, {
        add: [['run_number', 1]],
        set: { busy_until: now() + maxRunMs },
        when: [['any', ['absent', 'busy_until'], ['<', 'busy_until', now()]]],
      });
      if (!item) return undefined;
      const number = item.run_number;
      return {
        /** greater than that of every earlier run */
        number,
        /** progress of earlier runs; undefined before the first */
        progress: item.progress,
        /** @throws Error if this run took so long that a later one has begun */
        async save(progress: FeedProgress): Promise<void> {
          const isSaved = await update(number, { set: { progress } });
          if (!isSaved) throw new Error('a later run has taken over the search collection, because this one took too long');
        },
        async end(): Promise<void> {
          await update(number, { remove: ['busy_until'] });
        },
      };
    },
  };
}

export type FeedState = ReturnType<typeof openFeedState>;

export type FeedRun = NonNullable<Awaited<ReturnType<FeedState['begin']>>>;
