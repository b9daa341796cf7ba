import { serviceUpdate, toSavedService } from '../schemas/service.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { invalidParameter } from './core/api-error.ts';
import { ok, recordTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { historyFromEnvironment } from './core/store/history.ts';
import { noSuchService } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'as'>;
}

/** `PUT /api/services/{service_id}` (endpoint 7): replaces the whole record; optional members that are absent are removed, but for the namespace. */
export const createAction =
  ({ verifyAdmin, services }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    const serviceId = request.pathParameter('service_id');
    const { service_id, ...input } = request.body(serviceUpdate);
    if (service_id !== undefined && service_id !== serviceId) {
      throw invalidParameter([{ path: '/service_id', problem: 'must equal the service_id in the path, or be left out' }]);
    }
    const service = await services.as(admin).replace(serviceId, input, (seen) => request.ifMatch(recordTag(seen)));
    if (!service) throw noSuchService();
    return ok(toSavedService(service), { ETag: recordTag(service) });
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), services: openServices(table, historyFromEnvironment(table)) }),
);
