import { requireNamespace } from '../core/admin/admin.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { type Credentials, credentialsFromEnvironment } from '../core/credentials/credentials.ts';
import { ok } from '../core/http/response.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { redirectUriOf } from './connections.ts';
import { IssuerFailure } from './issuer-failure.ts';
import { type Issuers, issuersFromEnvironment } from './issuers.ts';
import { requireClient, type ServiceClient } from './service-client.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
  credentials: Pick<Credentials, 'read'>;
  issuers: Pick<Issuers, 'metadataOf' | 'obtain' | 'check' | 'revoke'>;
}

/**
 * `POST /api/services/{service_id}/credential/test`: obtains a token and discards it or, if people connect, checks what can be checked without one.
 */
export const createAction = ({ services, credentials, issuers }: Deps): AdminAction => {
  /** @throws IssuerFailure */
  async function tryClient({ service, client }: ServiceClient, baseUrl: string) {
    const { token_endpoint, authorization_endpoint, revocation_endpoint } = await issuers.metadataOf(client, baseUrl);
    if (client.grant === 'person') {
      await issuers.check(client, baseUrl);
      return { token_endpoint, authorization_endpoint, revocation_endpoint, redirect_uri: redirectUriOf(service.service_id, baseUrl) };
    }
    const { lifeSeconds: expires_in, scopes, ...tokens } = await issuers.obtain(client, baseUrl);
    await issuers.revoke(client, tokens, baseUrl).catch(() => {});
    return { token_endpoint, revocation_endpoint, expires_in, scopes };
  }

  return async (admin, request) => {
    const { service, client } = await requireClient({ services, credentials }, request.pathParameter('service_id'));
    requireNamespace(admin, service.namespace);
    const known = { service_id: service.service_id, grant: client.grant };
    try {
      return ok({ ...known, ok: true, ...(await tryClient({ service, client }, request.baseUrl)) });
    } catch (error) {
      if (!(error instanceof IssuerFailure)) throw error;
      const { error: code, description } = error.words;
      return ok({ ...known, ok: false, ...(code !== undefined && { error: code }), ...(description !== undefined && { description }) });
    }
  };
};

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({ services: openServices(table), credentials: credentialsFromEnvironment(), issuers: issuersFromEnvironment() }),
);
