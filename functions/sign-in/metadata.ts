import { signInPath } from '../core/http/sign-in-address.ts';

/**
 * The issuer (RFC 8414 section 2). It has a path, because clients that find metadata at the root of a host assume that every address of the host
 * requires a sign-in.
 */
export const issuerOf = (baseUrl: string): string => `${baseUrl}/oauth`;

/** Some clients ask for refresh tokens, or keep them, only where this is listed (OpenID Connect Core section 11). Requested scopes are ignored. */
export const scopesSupported = ['offline_access'];

/** How to get a token for `/mcp/sign-in` (RFC 9728 section 2). */
export const describeResource = (baseUrl: string) => ({
  resource: `${baseUrl}${signInPath}`,
  resource_name: 'Intent Gate',
  authorization_servers: [issuerOf(baseUrl)],
  bearer_methods_supported: ['header'],
  resource_documentation: `${baseUrl}/docs`,
  resource_policy_uri: `${baseUrl}/docs#policy`,
});

/** The supported way to sign in (RFC 8414 section 2). */
export const describeAuthorizationServer = (baseUrl: string) => ({
  issuer: issuerOf(baseUrl),
  authorization_endpoint: `${baseUrl}/oauth/authorize`,
  token_endpoint: `${baseUrl}/oauth/token`,
  registration_endpoint: `${baseUrl}/oauth/register`,
  revocation_endpoint: `${baseUrl}/oauth/revoke`,
  revocation_endpoint_auth_methods_supported: ['none'],
  jwks_uri: `${baseUrl}/.well-known/jwks.json`,
  scopes_supported: scopesSupported,
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
