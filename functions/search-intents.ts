import { paginate } from '../schemas/pagination.ts';
import { searchQuery } from '../schemas/search.ts';
import { pageLinks } from './core/http/links.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { openCallerPolicy } from './core/pat/authenticate.ts';
import { patVerifierFromEnvironment, type VerifyPat } from './core/pat/verify.ts';
import { isIntentSubject, judgedIntent } from './core/policy/conditions.ts';
import { mayBeExecuted } from './core/policy/judge.ts';
import type { FindPolicy } from './core/policy/policy.ts';
import { isPermitted, isProhibited } from './core/policy/scope.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { openRegistry } from './core/registry/registry.ts';
import { toBriefIntent, toCatalogueEntry } from './core/search/document.ts';
import type { Hit, SearchEngine, SearchOptions } from './core/search/search-engine.ts';
import { openSqliteEngine } from './core/search/sqlite/engine.ts';
import { snapshotsFromEnvironment } from './core/search/sqlite/snapshots.ts';
import { tableFromEnvironment } from './core/table/table.ts';
import { searchEngineFromEnvironment } from './features.ts';

export interface Deps {
  engine: SearchEngine;
  findPolicy: FindPolicy;
  /** without it, `allowed` is computed as for a caller without a PAT */
  verifyPat?: VerifyPat;
}

const show = {
  details: ({ intent }: Hit) => intent,
  brief: ({ intent }: Hit) => toBriefIntent(intent),
  catalogue: ({ intent, method }: Hit) => toCatalogueEntry(intent, method),
};

/** `GET /api/intents/search`: by relevance if there is a query, else by intent_uid. */
export const createAction =
  ({ engine, findPolicy, verifyPat }: Deps): Action =>
  async (request) => {
    const given = request.query(searchQuery);
    const query = { ...given, query: given.query?.trim() || undefined };
    const { compiled } = await openCallerPolicy(findPolicy, verifyPat)(request);
    const asksAboutIntents = compiled.rules.some(({ conditions }) => conditions.some(({ subject }) => isIntentSubject(subject)));
    const isForbidden: SearchOptions['isForbidden'] = (intent_uid, read) => {
      if (!isPermitted(compiled.scope, intent_uid) || isProhibited(compiled, intent_uid)) return true;
      if (!asksAboutIntents) return false;
      const { record, service_name } = read();
      return !mayBeExecuted(compiled.rules, judgedIntent(record, { service_id: record.service_id, service_name }));
    };
    const { hits, total } = await engine.search(query, { isForbidden, judgedBy: compiled.rules });
    const intents = hits.map(({ match, ...hit }) => ({ ...show[query.view ?? 'details'](hit), ...(match && { match }) }));
    const pagination = paginate(total, query.page, query.page_size);
    const after = query.query === undefined ? hits.at(-1)?.intent.intent_uid : undefined;
    return revalidated({ intents, pagination }, undefined, pageLinks(request, pagination, after));
  };

const table = tableFromEnvironment();

export const engine: SearchEngine = searchEngineFromEnvironment() ?? openSqliteEngine(openRegistry(table), snapshotsFromEnvironment());

export const action = createAction({ engine, findPolicy: policyFromEnvironment(table), verifyPat: patVerifierFromEnvironment() });

export const handler = serve(action);
