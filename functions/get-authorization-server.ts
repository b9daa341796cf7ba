import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { issuerOf } from './core/sign-in/metadata.ts';

const path = '/.well-known/oauth-authorization-server/oauth';

/**
 * `GET /.well-known/oauth-authorization-server/oauth`: what sign-in supports, which is one way of doing it (RFC 8414). Whoever asks at the root of the host is
 * sent on.
 */
export const createAction =
  (): Action =>
  async ({ baseUrl, path: asked }) => {
    if (!asked.startsWith(path)) return { status: 308, headers: { Location: `${baseUrl}${path}` } };
    return revalidated({
      issuer: issuerOf(baseUrl),
      authorization_endpoint: `${baseUrl}/oauth/authorize`,
      token_endpoint: `${baseUrl}/oauth/token`,
      registration_endpoint: `${baseUrl}/oauth/register`,
      revocation_endpoint: `${baseUrl}/oauth/revoke`,
      revocation_endpoint_auth_methods_supported: ['none'],
      jwks_uri: `${baseUrl}/.well-known/jwks.json`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      prompt_values_supported: ['none', 'consent'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${baseUrl}/docs`,
    });
  };

export const handler = serve(createAction());
