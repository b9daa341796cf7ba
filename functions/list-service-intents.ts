import { listIntent } from '../schemas/intent.ts';
import { listQuery, paginate } from '../schemas/pagination.ts';
import { mayChange } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { pageLinks } from './core/http/links.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { listIntents } from './core/registry/lists.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { openServices, type Services } from './core/registry/services.ts';
import { type Table, tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'find'>;
  table: Table;
}

/** `GET /api/services/{service_id}/intents`: ordered by intent_uid; admins of the service also see drafts. */
export const createAction =
  ({ verifyAdmin, services, table }: Deps): Action =>
  async (request) => {
    const { page, page_size: pageSize, after } = request.query(listQuery);
    const serviceId = request.pathParameter('service_id');
    const admin = request.header('authorization') === undefined ? undefined : await verifyAdmin(request);
    const service = await services.find(serviceId);
    if (!service) throw noSuchService();
    const isWithDrafts = admin !== undefined && mayChange(admin, service.namespace);
    const { intents: found, total } = await listIntents(table, service, after ?? (page - 1) * pageSize, pageSize, isWithDrafts);
    const body = { intents: found.map(listIntent), pagination: paginate(total, page, pageSize) };
    return revalidated(body, undefined, pageLinks(request, body.pagination, found.at(-1)?.intent_uid));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    services: openServices(table),
    table,
  }),
);
