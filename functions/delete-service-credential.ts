import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { type Credentials, credentialsFromEnvironment } from './core/credentials/credentials.ts';
import { outwaitEarlierReads } from './core/execution/block-check.ts';
import { noContent } from './core/http/response.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import type { Services } from './core/registry/services.ts';

/** `DELETE /api/services/{service_id}/credential`: calls no longer carry a credential or a signature. */
export const createAction =
  ({ services, credentials }: { services: Pick<Services, 'as'>; credentials: Pick<Credentials, 'remove'> }): AdminAction =>
  async (admin, request) => {
    const serviceId = request.pathParameter('service_id');
    // The record is updated last: until then, no call is sent without the credential.
    const remove = () => credentials.remove(serviceId);
    if (!(await services.as(admin).setCredential(serviceId, undefined, request.ifMatch, remove))) throw noSuchService();
    // even if there was none: another request may just have removed one that calls still carry
    await outwaitEarlierReads();
    return noContent();
  };

export const handler = serveAdmin(createAction({ ...registryFromEnvironment(), credentials: credentialsFromEnvironment() }));
