import { toCredentialFacts } from '../schemas/credential.ts';
import { toService } from '../schemas/service.ts';
import { mayChange } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, findAdmin, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { type Look, lookFromEnvironment, privateHeaders, refuseService, sightWithin } from './core/execution/catalogue.ts';
import { recordTag, revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { listIntents } from './core/registry/lists.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { openServices, type Services } from './core/registry/services.ts';
import { type Table, tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'find'>;
  table: Table;
  look?: Look | undefined;
}

/** `GET /api/services/{service_id}`: admins who may change it also see its credential's facts. */
export const createAction =
  ({ verifyAdmin, services, table, look }: Deps): Action =>
  async (request) => {
    const serviceId = request.pathParameter('service_id');
    const viewer = await look?.(request);
    const [service, admin] = await Promise.all([services.find(serviceId), viewer ? viewer.admin : findAdmin(request, verifyAdmin)]);
    if (!service) return refuseService(table, serviceId, viewer);
    const sight = sightWithin(viewer, service);
    if (sight) await listIntents(table, service, 0, 1, false, sight);
    const vary = viewer ? privateHeaders : { Vary: 'Authorization' };
    if (!admin || !mayChange(admin, service.namespace)) return revalidated(toService(service), recordTag(service), vary);
    const { credential } = service;
    const facts = credential ? toCredentialFacts(credential) : null;
    return revalidated({ ...toService(service), credential: facts }, recordTag(service, 'admin'), privateHeaders);
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    services: openServices(table),
    table,
    look: lookFromEnvironment(table, policyFromEnvironment(table)),
  }),
);
