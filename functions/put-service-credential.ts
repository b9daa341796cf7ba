import { credentialInput } from '../schemas/credential.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { type Credentials, credentialsFromEnvironment } from './core/credentials/credentials.ts';
import { ok, recordTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { historyFromEnvironment } from './core/store/history.ts';
import { noSuchService, recordChanged } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'find' | 'as'>;
  credentials: Pick<Credentials, 'replace' | 'remove'>;
}

/**
 * `PUT /api/services/{service_id}/credential`: the header field that calls of the service's intents carry, and a new key with which they are signed.
 * The key is shown in this answer and never again, the value of the field not at all.
 */
export const createAction =
  ({ verifyAdmin, services, credentials }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    const input = request.body(credentialInput);
    const serviceId = request.pathParameter('service_id');
    // The record first: if the credential is never written, calls are refused instead of going out without it.
    if (!(await services.as(admin).setCredential(serviceId, { set_at: Date.now() }, (seen) => request.ifMatch(recordTag(seen)))))
      throw noSuchService();
    const { header_name, signing_key } = await credentials.replace(serviceId, input);
    const service = await services.find(serviceId);
    if (!service) {
      await credentials.remove(serviceId);
      throw noSuchService();
    }
    // Somebody has removed the credential meanwhile.
    if (!service.credential) throw recordChanged();
    return ok({ service_id: serviceId, header_name, signing_key }, { ETag: recordTag(service) });
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    services: openServices(table, historyFromEnvironment(table)),
    credentials: credentialsFromEnvironment(),
  }),
);
