import { type Credentials, credentialsFromEnvironment } from '../core/credentials/credentials.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { personOf } from '../core/pat/holder.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { OAuthError } from '../sign-in/oauth-error.ts';
import { findSession } from '../sign-in/session.ts';
import { openSignIns, type SignIns } from '../sign-in/sign-ins.ts';
import { type Connections, openConnections } from './connections.ts';
import { type Grants, openGrants } from './grants.ts';
import { type Issuers, issuersFromEnvironment } from './issuers.ts';
import { connectedPage, showRefusals } from './pages.ts';
import { connectionKeys } from './records.ts';
import { sealerFromEnvironment } from './seal.ts';
import { requirePersonClient } from './service-client.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
  credentials: Pick<Credentials, 'read'>;
  signIns: Pick<SignIns, 'findSession'>;
  connections: Pick<Connections, 'takeUp' | 'keep'>;
  grants: Pick<Grants, 'sealedMembers' | 'expiresAt'>;
  issuers: Pick<Issuers, 'exchange' | 'revoke'>;
}

const notYours = () =>
  new OAuthError('access_denied', 'This consent was asked for in another browser, more than ten minutes ago, or has been used already.');

const blocked = () => new OAuthError('access_denied', 'The operators of this gate have blocked you.', { status: 403 });

/** `GET /connect/{service_id}/callback`: where the issuer sends a person back to, with a code. */
export const createAction = ({ services, credentials, signIns, connections, grants, issuers }: Deps): Action =>
  showRefusals(async (request) => {
    const { baseUrl } = request;
    const callback = new URLSearchParams(request.queryValues());
    const serviceId = request.pathParameter('service_id');
    const session = await findSession(request, signIns, Date.now());
    if (!session) throw notYours();
    const { service, client } = await requirePersonClient({ services, credentials }, serviceId);
    const attempt = await connections.takeUp(callback.get('state') ?? '', session, serviceId, client, baseUrl);
    if (!attempt) throw notYours();
    const tokens = await issuers.exchange(client, attempt, callback, baseUrl);
    const key = connectionKeys.ofPerson(personOf(session.person.subject), serviceId);
    const { scopes: _, ...sealed } = await grants.sealedMembers(key, tokens);
    if (await connections.keep(session.person, serviceId, client, { ...sealed, expires_at: grants.expiresAt() }, tokens))
      return connectedPage(service, tokens.scopes ?? client.scopes ?? [], baseUrl);
    await issuers.revoke(client, tokens, baseUrl).catch(() => {});
    throw blocked();
  });

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    services: openServices(table),
    credentials: credentialsFromEnvironment(),
    signIns: openSignIns(table),
    connections: openConnections(table),
    grants: openGrants(table, sealerFromEnvironment()),
    issuers: issuersFromEnvironment(),
  }),
);
