import { paginate } from '../schemas/pagination.ts';
import { searchQuery } from '../schemas/search.ts';
import { type Look, lookFromEnvironment, privateHeaders } from './core/execution/catalogue.ts';
import { pageLinks, sizeToRead, uidLinks } from './core/http/links.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { openCallerPolicy } from './core/pat/authenticate.ts';
import { patVerifierFromEnvironment, type VerifyPat } from './core/pat/verify.ts';
import type { FindPolicy } from './core/policy/policy.ts';
import { sightOf } from './core/policy/sight.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { openRegistry } from './core/registry/registry.ts';
import { toBriefIntent, toCatalogueEntry } from './core/search/document.ts';
import { type Hit, type ReadHealth, type SearchEngine, searchWith } from './core/search/search-engine.ts';
import { openSqliteEngine } from './core/search/sqlite/engine.ts';
import { snapshotsFromEnvironment } from './core/search/sqlite/snapshots.ts';
import { tableFromEnvironment } from './core/table/table.ts';
import { healthReportFromEnvironment, searchEngineFromEnvironment } from './features.ts';

export interface Deps {
  engine: SearchEngine;
  findPolicy: FindPolicy;
  /** without it, `allowed` is computed as for a caller without a PAT */
  verifyPat?: VerifyPat;
  look?: Look | undefined;
  readHealth?: ReadHealth | undefined;
}

const show = {
  details: ({ intent }: Hit) => intent,
  brief: ({ intent }: Hit) => toBriefIntent(intent),
  catalogue: ({ intent, method }: Hit) => toCatalogueEntry(intent, method),
};

/** `GET /api/intents/search`: by relevance if there is a query, else by intent_uid. */
export const createAction =
  ({ engine, findPolicy, verifyPat, look, readHealth }: Deps): Action =>
  async (request) => {
    const given = request.query(searchQuery);
    const query = { ...given, query: given.query?.trim() || undefined };
    const viewer = await look?.(request);
    const policy = viewer?.policy ?? (await openCallerPolicy(findPolicy, verifyPat)(request));
    const healthOf = await readHealth?.();
    const isFailing = (uid: string): boolean => healthOf?.(uid)?.isFailing ?? false;
    const sight = (!query.permitted && viewer?.sight) || sightOf(policy);
    const after = query.query === undefined ? query.after : undefined;
    const size = sizeToRead({ ...query, after });
    const asked = { ...query, page_size: size, ...(viewer?.sight && { permitted: 'true' as const }) };
    const { hits, total } = await engine.search(asked, { ...searchWith(sight), isFailing });
    const intents = hits.slice(0, query.page_size).map(({ match, ...hit }) => ({
      ...show[query.view ?? 'details'](hit),
      ...(match && { match }),
      ...(healthOf?.(hit.intent.intent_uid) && { health: healthOf(hit.intent.intent_uid)?.health }),
    }));
    const pagination = paginate(total, query.page, query.page_size);
    const uids = hits.map(({ intent }) => intent.intent_uid);
    const links = query.query === undefined ? uidLinks(request, pagination, after, uids) : pageLinks(request, pagination, undefined);
    return revalidated({ intents, pagination }, undefined, { ...links, ...((viewer || query.permitted) && privateHeaders) });
  };

const table = tableFromEnvironment();
const findPolicy = policyFromEnvironment(table);

export const look = lookFromEnvironment(table, findPolicy);

export const engine: SearchEngine = searchEngineFromEnvironment() ?? openSqliteEngine(openRegistry(table), snapshotsFromEnvironment());

export const action = createAction({
  engine,
  findPolicy,
  verifyPat: patVerifierFromEnvironment(),
  look,
  readHealth: healthReportFromEnvironment(table),
});

export const handler = serve(action);
