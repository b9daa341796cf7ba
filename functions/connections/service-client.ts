import type { OAuthClient } from '../../schemas/connections/oauth-client.ts';
import type { Credentials } from '../core/credentials/credentials.ts';
import type { ServiceRecord } from '../core/registry/records.ts';
import { noSuchService } from '../core/registry/refusals.ts';
import type { Services } from '../core/registry/services.ts';
import { ApiError } from '../core/runtime/api-error.ts';

/** A service, and the client as which the gate obtains its tokens. */
export interface ServiceClient {
  service: ServiceRecord;
  client: OAuthClient;
}

/**
 * The client of a service.
 * @param credentials - reads the client's secret; without it, the client has none
 * @throws ApiError NOT_FOUND if there is no such service or it has no client, SERVICE_UNAVAILABLE
 */
export async function requireClient(
  { services, credentials }: { services: Pick<Services, 'find'>; credentials?: Pick<Credentials, 'read'> },
  serviceId: string,
): Promise<ServiceClient> {
  const service = await services.find(serviceId);
  if (!service) throw noSuchService();
  const facts = service.credential?.oauth;
  if (!service.credential || !facts) throw noClient();
  const client = credentials ? (await credentials.read(serviceId, service.credential)).oauth : facts;
  if (!client) throw noClient();
  return { service, client };
}

/**
 * The same for the pages of people, who are not told whether there is such a service.
 * @throws ApiError NOT_FOUND unless people connect to the service, SERVICE_UNAVAILABLE
 */
export async function requirePersonClient(...parts: Parameters<typeof requireClient>): Promise<ServiceClient> {
  const found = await requireClient(...parts).catch((error: unknown) => {
    throw error instanceof ApiError && error.code === 'NOT_FOUND' ? nobodyConnects() : error;
  });
  if (found.client.grant !== 'person') throw nobodyConnects();
  return found;
}

const noClient = () => new ApiError('NOT_FOUND', 'The service exists, but has no credential of this kind.');

export const nobodyConnects = () => new ApiError('NOT_FOUND', 'There is no such service, or people do not connect to it.');
