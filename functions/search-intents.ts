import { paginate } from '../schemas/pagination.ts';
import { searchQuery } from '../schemas/search.ts';
import { readEnvironment } from './core/environment.ts';
import { pageLinks } from './core/http/links.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { openSqliteEngine, type SearchEngine } from './core/search/engine.ts';
import { openCollection } from './core/search/opensearch/collection.ts';
import { snapshotsFromEnvironment } from './core/search/snapshot-stores.ts';
import { requireFullTextSearch } from './core/search/sqlite.ts';
import { openRegistry } from './core/store/registry.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  engine: SearchEngine;
}

/** `GET /api/intents/search` (endpoint 1): by relevance where there is a question, else by intent_uid. */
export const createAction =
  ({ engine }: Deps): Action =>
  async (request) => {
    const query = request.query(searchQuery);
    const { hits, total } = await engine.search(query);
    const intents = hits.map(({ intent, match }) => ({ ...intent, ...(match && { match }) }));
    const pagination = paginate(total, query.page, query.page_size);
    const after = query.query === undefined ? hits.at(-1)?.intent.intent_uid : undefined;
    return revalidated({ intents, pagination }, undefined, pageLinks(request, pagination, { after }));
  };

function openEngine(): SearchEngine {
  const { searchCollection } = readEnvironment([], ['searchCollection']);
  if (searchCollection !== undefined) return openCollection({ endpoint: searchCollection });
  requireFullTextSearch();
  return openSqliteEngine(openRegistry(tableFromEnvironment()), snapshotsFromEnvironment());
}

export const action = createAction({ engine: openEngine() });

export const handler = serve(action);
