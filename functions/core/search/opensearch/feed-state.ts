import type { Update } from '../../table/expression.ts';
import { keys } from '../../table/keys.ts';
import type { Table } from '../../table/table.ts';
import type { Seen } from '../registry-source.ts';

/** How far a search collection has been filled and fed. Times are in milliseconds since the epoch. */
export interface FeedProgress {
  /** how far the collection has followed the log, once it is filled; a fill starts with the head */
  seen: Seen;
  /** services that were deleted, and when that was fed, as long as searches may not find all of their intents yet */
  deleted?: Record<string, number>;
  /** the fill that is not complete: where it goes on (absent at its beginning), how many intents it has written, and when it began */
  fill?: { cursor?: string | undefined; intents: number; startMs: number };
}

/** A run that is at work. */
export interface FeedRun {
  /** greater than that of every earlier run */
  number: number;
  /** what the runs before it have achieved; undefined before the first */
  progress: FeedProgress | undefined;
  /** @throws Error if a later run has begun, because this one took too long */
  save(progress: FeedProgress): Promise<void>;
  end(): Promise<void>;
}

/** A run that has not ended by itself is taken for dead after this long: the longest run of a Lambda of the feed, and 10 seconds for clocks that differ. */
export const maxRunMs = 310_000;

/**
 * How far the feed of a collection has come. Only one run is at work at a time.
 * @param collection - distinguishes collections, so that a new one is filled from the beginning
 */
export function openFeedState(table: Table, collection: string, now: () => number = Date.now) {
  const key = keys.feed(collection);

  /** Updates the state, unless a later run has begun. */
  const update = (run: number, change: Update) => table.update(key, { ...change, when: [['=', 'run_number', run]], isQuiet: true });

  return {
    /** Begins a run. @returns undefined if another one is at work */
    async begin(): Promise<FeedRun | undefined> {
      const item = await table.update<{ run_number: number; progress?: FeedProgress }>(key, {
        add: [['run_number', 1]],
        set: { busy_until: now() + maxRunMs },
        when: [['any', ['absent', 'busy_until'], ['<', 'busy_until', now()]]],
      });
      if (!item) return undefined;
      const number = item.run_number;
      return {
        number,
        progress: item.progress,
        async save(progress) {
          const isSaved = await update(number, { set: { progress } });
          if (!isSaved) throw new Error('another run feeds the search collection, because this one took too long');
        },
        async end() {
          await update(number, { remove: ['busy_until'] });
        },
      };
    },
  };
}

export type FeedState = ReturnType<typeof openFeedState>;
