import { credentialInput } from '../schemas/credential.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { type Credentials, credentialsFromEnvironment } from './core/credentials/credentials.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { noSuchService } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'find'>;
  credentials: Pick<Credentials, 'replace'>;
}

/**
 * `PUT /api/services/{service_id}/credential`: the header field that calls of the service's intents carry, and a new key with which they are signed.
 * The key is shown in this answer and never again, the value of the field not at all.
 */
export const createAction =
  ({ verifyAdmin, services, credentials }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const input = request.body(credentialInput);
    const service = await services.find(request.pathParameter('service_id'));
    if (!service) throw noSuchService();
    const { header_name, signing_key } = await credentials.replace(service.service_id, input);
    return ok({ service_id: service.service_id, header_name, signing_key });
  };

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    services: openServices(tableFromEnvironment()),
    credentials: credentialsFromEnvironment(),
  }),
);
