import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { noContent, recordTag } from './core/http/response.ts';
import { type Steps, serve } from './core/http/serve.ts';
import { noSuchService } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'remove'>;
}

/** `DELETE /api/services/{service_id}` (endpoint 8): once it answers, none of the service's intents is found, listed or executed. */
export const createHandler =
  ({ verifyAdmin, services }: Deps): Steps =>
  async (request) => {
    await verifyAdmin(request);
    const isRemoved = await services.remove(request.pathParameter('service_id'), (seen) => request.knows(recordTag(seen)));
    if (!isRemoved) throw noSuchService();
    return noContent();
  };

export const handler = serve(
  createHandler({ verifyAdmin: adminVerifierFromEnvironment(), services: openServices(tableFromEnvironment()) }),
);
