import { ok } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { type ServiceItem, toServiceRecord } from '../core/registry/records.ts';
import { keys } from '../core/table/keys.ts';
import { type Table, tableFromEnvironment } from '../core/table/table.ts';
import { isConnected } from './client.ts';
import { type Connections, describeFailure, openConnections } from './connections.ts';
import { connectUrl } from './refusals.ts';
import { personVerifierFromEnvironment, type VerifyPerson } from './signed-in.ts';

export interface Deps {
  verifyPerson: VerifyPerson;
  connections: Pick<Connections, 'list'>;
  table: Pick<Table, 'getAll'>;
}

/** `GET /api/connections`: the services that a person is connected to. */
export const createAction =
  ({ verifyPerson, connections, table }: Deps): Action =>
  async (request) => {
    const found = await connections.list(await verifyPerson(request));
    const services = await table.getAll<ServiceItem>(found.map(([serviceId]) => keys.service(serviceId)));
    return ok({
      connections: found.map(([service_id, item], at) => {
        const service = services[at] && toServiceRecord(services[at]);
        const oauth = service?.credential?.oauth;
        return {
          service_id,
          ...(service && { service_name: service.service_name }),
          scopes: item.scopes ?? [],
          state: oauth && isConnected(item, oauth, Date.now()) ? 'connected' : 'reconnect',
          connected_at: new Date(item.connected_at ?? 0).toISOString(),
          ...(item.failure && { failure: describeFailure(item.failure) }),
          url: connectUrl(service_id, request.baseUrl),
        };
      }),
    });
  };

const table = tableFromEnvironment();

export const handler = serve(createAction({ verifyPerson: personVerifierFromEnvironment(), connections: openConnections(table), table }));
