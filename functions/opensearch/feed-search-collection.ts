import { serveSchedule } from '../core/http/serve.ts';
import { openRegistry } from '../core/registry/registry.ts';
import { log } from '../core/runtime/log.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { openOpenSearchEngine } from './engine.ts';
import { type FeedParts, openFeed } from './feed.ts';
import { openFeedState } from './feed-state.ts';
import { readCollectionEnvironment } from './records.ts';

/** Runs every minute: fills the search collection, over several runs if needed, then writes changes to it. */
export function createAction(parts: FeedParts): () => Promise<void> {
  const feed = openFeed(parts);
  return async () => {
    const result = await feed();
    if (!result) return log.info('another run is feeding the search collection');
    const behind_seconds = Math.round(result.behindMs / 1000);
    if (result.fill) log.info('filled a part of the search collection', { behind_seconds, intents: result.fill.intents });
    else log.info('fed the search collection', { behind_seconds });
  };
}

function open(collection: string): () => Promise<void> {
  const table = tableFromEnvironment();
  return createAction({
    source: openRegistry(table),
    engine: openOpenSearchEngine({ endpoint: collection }),
    state: openFeedState(table, collection),
  });
}

const { searchCollection } = readCollectionEnvironment([], ['searchCollection']);

export const handler = serveSchedule(
  searchCollection === undefined
    ? () => Promise.reject(new TypeError('missing environment variable: SEARCH_COLLECTION'))
    : open(searchCollection),
);
