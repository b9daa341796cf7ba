import { type Action, serve } from '../core/http/serve.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import { isUlid } from '../core/runtime/ulid.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { findSession, formToken } from '../sign-in/session.ts';
import { beginSignIn } from '../sign-in/sign-in-attempt.ts';
import { openSignIns, type SignIns } from '../sign-in/sign-ins.ts';
import { type UserPool, userPoolFromEnvironment } from '../sign-in/user-pool.ts';
import { clientIdentity, isConnected } from './client.ts';
import { type Connections, openConnections } from './connections.ts';
import { connectPage, showRefusals } from './pages.ts';
import { nobodyConnects, requirePersonClient } from './service-client.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
  signIns: Pick<SignIns, 'findSession'>;
  userPool: Pick<UserPool, 'begin' | 'signInAddress'>;
  connections: Pick<Connections, 'find'>;
}

/** `GET /connect/{service_id}`: shows a person, who first signs in, what connecting to the service means. */
export const createAction = ({ services, signIns, userPool, connections }: Deps): Action =>
  showRefusals(async (request) => {
    const { baseUrl } = request;
    const nowMs = Date.now();
    const serviceId = request.pathParameter('service_id');
    if (!isUlid(serviceId)) throw nobodyConnects();
    const session = await findSession(request, signIns, nowMs);
    // first, so that strangers do not learn which services there are
    if (!session) return beginSignIn(userPool, request, { back: `/connect/${serviceId}` });
    const found = await requirePersonClient({ services }, serviceId);
    const { service_id } = found.service;
    const grant = await connections.find(session.person.subject, service_id);
    const since = isConnected(grant, found.client, nowMs) ? grant?.connected_at : undefined;
    const token = formToken(session.secret, ['connect', service_id, clientIdentity(found.client)]);
    return connectPage(found, session, baseUrl, token, since);
  });

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    services: openServices(table),
    signIns: openSignIns(table),
    userPool: userPoolFromEnvironment(),
    connections: openConnections(table),
  }),
);
