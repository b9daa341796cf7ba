import { toService } from '../schemas/service.ts';
import { recordTag, revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { noSuchService } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
}

/** `GET /api/services/{service_id}` (endpoint 9). */
export const createAction =
  ({ services }: Deps): Action =>
  async (request) => {
    const service = await services.find(request.pathParameter('service_id'));
    if (!service) throw noSuchService();
    return revalidated(toService(service), recordTag(service));
  };

export const handler = serve(createAction({ services: openServices(tableFromEnvironment()) }));
