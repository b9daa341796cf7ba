import { requireNamespace } from '../core/admin/admin.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type Connections, describeFailure, openConnections, redirectUriOf } from './connections.ts';
import { requireClient } from './service-client.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
  connections: Pick<Connections, 'count' | 'ofService'>;
}

/** `GET /api/services/{service_id}/connections`: how many people are connected to a service, and what its issuer refused last. */
export const createAction =
  ({ services, connections }: Deps): AdminAction =>
  async (admin, request) => {
    const { service, client } = await requireClient({ services }, request.pathParameter('service_id'));
    requireNamespace(admin, service.namespace);
    const { service_id, credential } = service;
    const { grant } = client;
    const item = await connections.ofService(service_id);
    const isKept = item?.sealed !== undefined && item.client === credential?.version && item.until !== undefined;
    return ok({
      service_id,
      grant,
      ...(grant === 'person' && {
        people: await connections.count(service_id, client),
        redirect_uri: redirectUriOf(service_id, request.baseUrl),
      }),
      ...(grant === 'client' &&
        isKept && { renewed_at: new Date(item.issued ?? 0).toISOString(), renew_at: new Date(item.until ?? 0).toISOString() }),
      ...(item?.failure && { failure: describeFailure(item.failure) }),
    });
  };

const table = tableFromEnvironment();

export const handler = serveAdmin(createAction({ services: openServices(table), connections: openConnections(table) }));
