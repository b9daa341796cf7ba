import { toCredentialFacts } from '../schemas/credential.ts';
import { toService } from '../schemas/service.ts';
import { mayChange } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, findAdmin, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { recordTag, revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { openServices, type Services } from './core/registry/services.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/** `GET /api/services/{service_id}`: admins who may change it also see its credential's facts. */
export const createAction =
  ({ verifyAdmin, services }: { verifyAdmin: VerifyAdmin; services: Pick<Services, 'find'> }): Action =>
  async (request) => {
    const [service, admin] = await Promise.all([services.find(request.pathParameter('service_id')), findAdmin(request, verifyAdmin)]);
    if (!service) throw noSuchService();
    const vary = { Vary: 'Authorization' };
    if (!admin || !mayChange(admin, service.namespace)) return revalidated(toService(service), recordTag(service), vary);
    const { credential } = service;
    const facts = credential ? toCredentialFacts(credential) : null;
    return revalidated({ ...toService(service), credential: facts }, recordTag(service, 'admin'), {
      ...vary,
      'Cache-Control': 'private, no-cache',
    });
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), services: openServices(tableFromEnvironment()) }));
