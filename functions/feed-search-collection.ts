import { readEnvironment } from './core/environment.ts';
import { serveSchedule } from './core/http/serve.ts';
import { log } from './core/log.ts';
import { type OpenSearchEngine, openOpenSearchEngine } from './core/search/opensearch/engine.ts';
import { feedAll, feedChanges } from './core/search/opensearch/feed.ts';
import type { RegistrySource } from './core/search/registry-source.ts';
import { openRegistry } from './core/store/registry.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  source: RegistrySource;
  engine: OpenSearchEngine;
}

/**
 * How far back each run looks, in milliseconds: far enough for the runs before it to have failed for an hour, and for what the collection
 * did not show yet when its service was renamed.
 */
const lookBackMs = 3_600_000;

/** Runs every minute: writes what has changed to the search collection, and at first everything. What is written twice stays the same. */
export const createAction =
  ({ source, engine }: Deps) =>
  async (): Promise<void> => {
    const sinceMs = Date.now() - lookBackMs;
    if (!(await engine.isFilled())) {
      await engine.createIndex();
      await feedAll(source, engine);
      await engine.markFilled();
    }
    await feedChanges(source, engine, sinceMs);
    log.info('fed the search collection', { since_ms: sinceMs });
  };

const { searchCollection } = readEnvironment([], ['searchCollection']);

export const handler = serveSchedule(
  searchCollection === undefined
    ? () => Promise.reject(new TypeError('missing environment variable: SEARCH_COLLECTION'))
    : createAction({ source: openRegistry(tableFromEnvironment()), engine: openOpenSearchEngine({ endpoint: searchCollection }) }),
);
