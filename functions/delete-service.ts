import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { type Credentials, credentialsFromEnvironment } from './core/credentials/credentials.ts';
import { noContent } from './core/http/response.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import type { Services } from './core/registry/services.ts';
import { isUlid } from './core/runtime/ulid.ts';

/** Milliseconds reserved at the end of the invocation, so that a deletion is confirmed even if clean-up is unfinished. */
const reservedMs = 5_000;

/** `DELETE /api/services/{service_id}`: afterwards, none of the service's intents can be found, listed or executed. */
export const createAction =
  ({ services, credentials }: { services: Pick<Services, 'as'>; credentials: Pick<Credentials, 'remove'> }): AdminAction =>
  async (admin, request) => {
    const serviceId = request.pathParameter('service_id');
    const isRemoved = await services.as(admin).remove(serviceId, request.ifMatch, Date.now() + request.remainingMs() - reservedMs);
    // Even if the service is gone: an earlier deletion may have been interrupted at this point.
    if (isUlid(serviceId)) await credentials.remove(serviceId);
    if (!isRemoved) throw noSuchService();
    return noContent();
  };

export const handler = serveAdmin(createAction({ ...registryFromEnvironment(), credentials: credentialsFromEnvironment() }));
