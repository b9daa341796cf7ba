import { changesQuery } from '../schemas/changes.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { nextLink } from './core/http/links.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type History, historyFromEnvironment, selectEntries, toChange } from './core/registry/history.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  history: Pick<History, 'list'>;
}

/** `GET /api/changes`: who changed what, newest first. An admin of certain namespaces sees what belongs to them. */
export const createAction =
  ({ verifyAdmin, history }: Deps): Action =>
  async (request) => {
    const { namespaces } = await verifyAdmin(request);
    const { since, page_size: count, after, ...selection } = request.query(changesQuery);
    const sinceMs = since === undefined ? undefined : Date.parse(since);
    const { entries, next } = await history.list({ count, sinceMs, after, isWanted: selectEntries({ ...selection, namespaces }) });
    return ok({ changes: entries.map(toChange) }, nextLink(request, { after: next }));
  };

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), history: historyFromEnvironment(tableFromEnvironment()) }),
);
