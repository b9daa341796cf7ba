import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { type Credentials, credentialsFromEnvironment } from './core/credentials/credentials.ts';
import { adminTag, noContent, recordTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { noSuchService, recordChanged } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'find' | 'setCredential'>;
  credentials: Pick<Credentials, 'remove'>;
}

/** `DELETE /api/services/{service_id}/credential`: calls of the service's intents no longer carry a credential or a signature. */
export const createAction =
  ({ verifyAdmin, services, credentials }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const service = await services.find(request.pathParameter('service_id'));
    if (!service) throw noSuchService();
    if (!request.ifMatch(recordTag(service), adminTag(service))) throw recordChanged();
    // The record last: until it says so, no call goes out without the credential.
    await credentials.remove(service.service_id);
    await services.setCredential(service.service_id, undefined, () => true);
    return noContent();
  };

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    services: openServices(tableFromEnvironment()),
    credentials: credentialsFromEnvironment(),
  }),
);
