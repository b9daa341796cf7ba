import { type FullIntent, listIntent, serviceIntentsQuery, toFullIntent } from '../schemas/intent.ts';
import { paginate } from '../schemas/pagination.ts';
import { mayChange } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { invalidParameter } from './core/api-error.ts';
import { batchesOf } from './core/batches.ts';
import { nextLink, pageLinks } from './core/http/links.ts';
import { recordTag, revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { listIntents } from './core/registry/lists.ts';
import { type LiveIntents, openLiveIntents } from './core/registry/live-intents.ts';
import type { ServiceRecord } from './core/registry/records.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { openServices, type Services } from './core/registry/services.ts';
import { type Table, tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'find'>;
  intents: Pick<LiveIntents, 'read'>;
  table: Table;
}

/**
 * `GET /api/services/{service_id}/intents`: ordered by intent_uid; admins of the service also see drafts. With `view=full`, complete records, as many
 * as fit into the page.
 */
export const createAction =
  ({ verifyAdmin, services, intents, table }: Deps): Action =>
  async (request) => {
    const { page, page_size: pageSize, after, view } = request.query(serviceIntentsQuery);
    if (view === 'full' && page > 1)
      throw invalidParameter([
        { path: '/page', problem: 'must be left out with view=full: the Link header (rel="next") leads to the next page' },
      ]);
    const serviceId = request.pathParameter('service_id');
    const admin = request.header('authorization') === undefined ? undefined : await verifyAdmin(request);
    const service = await services.find(serviceId);
    if (!service) throw noSuchService();
    const isWithDrafts = admin !== undefined && mayChange(admin, service.namespace);
    const list = (count: number) => listIntents(table, service, after ?? (page - 1) * pageSize, count, isWithDrafts);
    if (view === 'full') {
      const { intents: listed, total } = await list(pageSize + 1);
      const uids = listed.map(({ intent_uid }) => intent_uid);
      const { lastUid, ...records } = await readRecords(intents, service, uids.slice(0, pageSize), isWithDrafts);
      return revalidated(
        { ...records, total_results: total },
        undefined,
        nextLink(request, 'after', lastUid === uids.at(-1) ? undefined : lastUid),
      );
    }
    const { intents: found, total } = await list(pageSize);
    const body = { intents: found.map(listIntent), pagination: paginate(total, page, pageSize) };
    return revalidated(body, undefined, pageLinks(request, body.pagination, found.at(-1)?.intent_uid));
  };

/** Maximum size of a page of complete records. Lambda sends at most 6 MB, and escaping the body as a JSON string may double it. */
const maxPageBytes = 2_000_000;

/** An intent takes up to 256 KB, so that a batch reads little more than a page holds. */
const batchSize = 20;

/** The records of a page, at least one if any exists, without those that have been moved or deleted since they were listed. */
async function readRecords(intents: Deps['intents'], service: ServiceRecord, uids: readonly string[], isWithDrafts: boolean) {
  const { service_id, service_name, paused, rev } = service;
  const records: FullIntent[] = [];
  const etags: Record<string, string> = {};
  let bytes = 0;
  let lastUid: string | undefined;
  for (const batch of batchesOf(uids, batchSize)) {
    for (const intent of await intents.read(batch, isWithDrafts)) {
      if (intent.service_id !== service_id) continue;
      const record = { ...toFullIntent(intent, service_name), ...(paused && { paused }) };
      bytes += Buffer.byteLength(JSON.stringify(record));
      if (bytes > maxPageBytes && records.length > 0) return { intents: records, etags, lastUid };
      records.push(record);
      etags[intent.intent_uid] = recordTag(intent, rev, 'full');
      lastUid = intent.intent_uid;
    }
    lastUid = batch.at(-1);
  }
  return { intents: records, etags, lastUid };
}

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    services: openServices(table),
    intents: openLiveIntents(table),
    table,
  }),
);
