import { serviceInput, toSavedService } from '../schemas/service.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { created, recordTag } from './core/http/response.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import type { Services } from './core/registry/services.ts';

/** `POST /api/services`: registers a service under a name that no other service has. */
export const createAction =
  ({ services }: { services: Pick<Services, 'as'> }): AdminAction =>
  async (admin, request) => {
    const service = await services.as(admin).create(request.body(serviceInput));
    return created(toSavedService(service), {
      ETag: recordTag(service),
      Location: `${request.baseUrl}/api/services/${service.service_id}`,
    });
  };

export const handler = serveAdmin(createAction(registryFromEnvironment()));
