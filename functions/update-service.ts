import { serviceInput, toSavedService } from '../schemas/service.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok, recordTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { noSuchService } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'replace'>;
}

/** `PUT /api/services/{service_id}` (endpoint 7): replaces the whole record; optional members that are absent are removed. */
export const createAction =
  ({ verifyAdmin, services }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const input = request.body(serviceInput);
    const service = await services.replace(request.pathParameter('service_id'), input, (seen) => request.ifMatch(recordTag(seen)));
    if (!service) throw noSuchService();
    return ok(toSavedService(service), { ETag: recordTag(service) });
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), services: openServices(tableFromEnvironment()) }));
