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
 * How far back each run looks, in milliseconds: far enough to cover an hour of failed runs, and what the collection
 * did not show yet when its service was renamed.
 */
const lookBackMs = 3_600_000;

/** Runs every minute: writes changes to the search collection, and everything in its first run. Writing a record twice changes nothing. */
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
