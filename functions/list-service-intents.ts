import { listIntent, serviceIntentsQuery } from '../schemas/intent-pages.ts';
import { paginate } from '../schemas/pagination.ts';
import { mayChange } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, findAdmin, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { type Look, lookFromEnvironment, privateHeaders, refuseService, sightWithin } from './core/execution/catalogue.ts';
import { nextLink, sizeToRead, uidLinks } from './core/http/links.ts';
import { recordTag, revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { listIntents, readFullPage } from './core/registry/lists.ts';
import { type LiveIntents, openLiveIntents } from './core/registry/live-intents.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { findService } from './core/registry/records.ts';
import { invalidParameter } from './core/runtime/api-error.ts';
import { type Table, tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  intents: Pick<LiveIntents, 'read'>;
  table: Table;
  look?: Look | undefined;
}

/**
 * `GET /api/services/{service_id}/intents`: ordered by intent_uid; admins of the service also see drafts. With `view=full`, complete records, as many
 * as fit into the page.
 */
export const createAction =
  ({ verifyAdmin, intents, table, look }: Deps): Action =>
  async (request) => {
    const query = request.query(serviceIntentsQuery);
    const { page, page_size: pageSize, after, view } = query;
    if (view === 'full' && page > 1)
      throw invalidParameter([
        { path: '/page', problem: 'must be left out with view=full: the Link header (rel="next") leads to the next page' },
      ]);
    const serviceId = request.pathParameter('service_id');
    const viewer = await look?.(request);
    const admin = viewer?.admin ?? (await findAdmin(request, verifyAdmin, true));
    const headers = viewer && privateHeaders;
    const service = await findService(table, serviceId);
    if (!service) return refuseService(table, serviceId, viewer);
    const isWithDrafts = admin !== undefined && mayChange(admin, service.namespace);
    const sight = sightWithin(viewer, service);
    const list = (count: number) => listIntents(table, service, after ?? (page - 1) * pageSize, count, isWithDrafts, sight);
    if (view === 'full') {
      const { intents: listed, total } = await list(pageSize + 1);
      const uids = listed.map(({ intent_uid }) => intent_uid);
      const { records, lastUid } = await readFullPage(intents, service, uids.slice(0, pageSize), isWithDrafts);
      const etags = Object.fromEntries(records.map(({ shown, rev }) => [shown.intent_uid, recordTag({ rev }, service.rev, 'full')]));
      const body = { intents: records.map(({ shown }) => shown), etags, total_results: total };
      const links = nextLink(request, 'after', lastUid === uids.at(-1) ? undefined : lastUid);
      return revalidated(body, undefined, { ...links, ...headers });
    }
    const { intents: found, total } = await list(sizeToRead(query));
    const body = { intents: found.slice(0, pageSize).map(listIntent), pagination: paginate(total, page, pageSize) };
    const uids = found.map(({ intent_uid }) => intent_uid);
    return revalidated(body, undefined, { ...uidLinks(request, body.pagination, after, uids), ...headers });
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    intents: openLiveIntents(table),
    table,
    look: lookFromEnvironment(table, policyFromEnvironment(table)),
  }),
);
