import { connectForm } from '../../schemas/connections/connections.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { OAuthError } from '../sign-in/oauth-error.ts';
import { findSession, formToken, isFormToken } from '../sign-in/session.ts';
import { openSignIns, type SignIns } from '../sign-in/sign-ins.ts';
import { clientIdentity } from './client.ts';
import { type Connections, openConnections } from './connections.ts';
import { type Issuers, issuersFromEnvironment } from './issuers.ts';
import { leadingPage, showRefusals } from './pages.ts';
import { requirePersonClient } from './service-client.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
  signIns: Pick<SignIns, 'findSession'>;
  connections: Pick<Connections, 'begin'>;
  issuers: Pick<Issuers, 'addressFor'>;
}

/** `POST /connect/{service_id}`: the form of the page that asks a person to connect. Leads to the issuer. */
export const createAction = ({ services, signIns, connections, issuers }: Deps): Action =>
  showRefusals(async (request) => {
    const { baseUrl } = request;
    const { form_token } = request.form(connectForm);
    const { service, client } = await requirePersonClient({ services }, request.pathParameter('service_id'));
    const { service_id } = service;
    const session = await findSession(request, signIns, Date.now());
    if (!session || !isFormToken(form_token, formToken(session.secret, ['connect', service_id, clientIdentity(client)]))) {
      throw new OAuthError('access_denied', 'This form did not come from a page that you were shown, or your session has ended.', {
        status: 403,
      });
    }
    const attempt = await connections.begin(session, service_id, client, baseUrl);
    return leadingPage(await issuers.addressFor(client, attempt, baseUrl));
  });

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    services: openServices(table),
    signIns: openSignIns(table),
    connections: openConnections(table),
    issuers: issuersFromEnvironment(),
  }),
);
