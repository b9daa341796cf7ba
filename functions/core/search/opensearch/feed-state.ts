import type { Update } from '../../table/expression.ts';
import { keys } from '../../table/keys.ts';
import type { Table } from '../../table/table.ts';
import type { LogPosition } from '../registry-source.ts';

/** Times are in milliseconds since the epoch. */
export interface FeedProgress {
  /** position in the log; during a fill, the head at its beginning */
  seen: LogPosition;
  /** deleted services and when they were fed, while searches may not find all of their intents yet */
  deleted?: Record<string, number>;
  /** an incomplete fill: its next page, the intents written, and its beginning */
  fill?: { cursor?: string | undefined; intents: number; startMs: number };
}

export interface FeedRun {
  /** ascending */
  number: number;
  /** of earlier runs; undefined before the first */
  progress: FeedProgress | undefined;
  /** @throws Error if a later run has begun, because this one took too long */
  save(progress: FeedProgress): Promise<void>;
  end(): Promise<void>;
}

/** After this long, a run counts as dead: the timeout of the feed's function, and 10 seconds for different clocks. */
export const maxRunMs = 310_000;

/**
 * The progress of a collection's feed. Only one run is active at a time.
 * @param collection - distinguishes collections, so that a new one is filled from the beginning
 */
export function openFeedState(table: Table, collection: string, now: () => number = Date.now) {
  const key = keys.feed(collection);

  const update = (run: number, change: Update) => table.update(key, { ...change, when: [['=', 'run_number', run]], isQuiet: true });

  return {
    /** @returns undefined if another run is active */
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
