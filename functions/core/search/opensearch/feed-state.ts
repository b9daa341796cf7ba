import { keys } from '../../table/keys.ts';
import type { Table } from '../../table/table.ts';

/** How far a search collection has been filled and fed. Times are in milliseconds since the epoch. */
export interface FeedProgress {
  /** what was announced before this moment has been written, once the collection is filled; a fill starts with its own beginning */
  asOfMs: number;
  /** the fill that is not complete: where it goes on (absent at its beginning), and how many intents it has written */
  fill?: { cursor?: string | undefined; intents: number };
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
  const update = (run: number, expression: string, values: Record<string, unknown> = {}) =>
    table.update(key, {
      UpdateExpression: expression,
      ConditionExpression: 'run_number = :run',
      ExpressionAttributeValues: { ':run': run, ...values },
    });

  return {
    /** Begins a run. @returns undefined if another one is at work */
    async begin(): Promise<FeedRun | undefined> {
      const item = await table.update<{ run_number: number; progress?: FeedProgress }>(key, {
        UpdateExpression: 'SET run_number = if_not_exists(run_number, :none) + :one, busy_until = :until',
        ConditionExpression: 'attribute_not_exists(busy_until) OR busy_until < :now',
        ExpressionAttributeValues: { ':none': 0, ':one': 1, ':now': now(), ':until': now() + maxRunMs },
        ReturnValues: 'ALL_NEW',
      });
      if (!item) return undefined;
      const number = item.run_number;
      return {
        number,
        progress: item.progress,
        async save(progress) {
          const isSaved = await update(number, 'SET progress = :progress', { ':progress': progress });
          if (!isSaved) throw new Error('another run feeds the search collection, because this one took too long');
        },
        async end() {
          await update(number, 'REMOVE busy_until');
        },
      };
    },
  };
}

export type FeedState = ReturnType<typeof openFeedState>;
