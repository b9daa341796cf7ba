import { type Credentials, credentialsFromEnvironment } from '../core/credentials/credentials.ts';
import { outwaitEarlierReads } from '../core/execution/block-check.ts';
import { noContent } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { personOf } from '../core/pat/holder.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { describeCause, log } from '../core/runtime/log.ts';
import { isUlid } from '../core/runtime/ulid.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type Connections, openConnections } from './connections.ts';
import { type GrantItem, type Grants, openGrants } from './grants.ts';
import { type Issuers, issuersFromEnvironment } from './issuers.ts';
import { connectionKeys } from './records.ts';
import { sealerFromEnvironment } from './seal.ts';
import { requireClient } from './service-client.ts';
import { personVerifierFromEnvironment, type VerifyPerson } from './signed-in.ts';

export interface Deps {
  verifyPerson: VerifyPerson;
  services: Pick<Services, 'find'>;
  credentials: Pick<Credentials, 'read'>;
  connections: Pick<Connections, 'find' | 'end'>;
  grants: Pick<Grants, 'open'>;
  issuers: Pick<Issuers, 'revoke'>;
}

const notConnected = () => new ApiError('NOT_FOUND', 'You are not connected to this service.');

/** `DELETE /api/connections/{service_id}`: once this is answered, no call is made with the person's token; it is revoked at the issuer if that is offered. */
export const createAction = ({ verifyPerson, services, credentials, connections, grants, issuers }: Deps): Action => {
  /** A failure is harmless: the gate has forgotten the tokens. */
  async function revoke(subject: string, serviceId: string, item: GrantItem, baseUrl: string): Promise<void> {
    const tokens = await grants.open(connectionKeys.ofPerson(personOf(subject), serviceId), item);
    if (!tokens) return;
    const { client } = await requireClient({ services, credentials }, serviceId);
    // whoever has connected again meanwhile would lose that consent at issuers that end them all (RFC 7009 section 2.1)
    if (!(await connections.find(subject, serviceId))) await issuers.revoke(client, tokens, baseUrl);
  }

  return async (request) => {
    const subject = await verifyPerson(request);
    const serviceId = request.pathParameter('service_id');
    const item = isUlid(serviceId) ? await connections.find(subject, serviceId) : undefined;
    if (!item) throw notConnected();
    await connections.end(subject, serviceId);
    const revoked = revoke(subject, serviceId, item, request.baseUrl).catch((error: unknown) =>
      log.warn('tokens not revoked', { cause: describeCause(error) }),
    );
    await Promise.all([revoked, outwaitEarlierReads()]);
    return noContent();
  };
};

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyPerson: personVerifierFromEnvironment(),
    services: openServices(table),
    credentials: credentialsFromEnvironment(),
    connections: openConnections(table),
    grants: openGrants(table, sealerFromEnvironment()),
    issuers: issuersFromEnvironment(),
  }),
);
