export const signInPath = '/mcp/sign-in';

/** The document that tells a host how to get a token (RFC 9728 section 3.1). */
const resourceMetadataPath = `/.well-known/oauth-protected-resource${signInPath}`;

/** The challenge for a host (RFC 9728 section 5.1). @param reason - the default is for a request without a token (RFC 6750 section 3.1) */
export const challengeOf = (baseUrl: string, reason = 'Bearer realm="intent-gate"'): string =>
  `${reason}, resource_metadata="${baseUrl}${resourceMetadataPath}"`;

export const askToSignIn = 'Let the person you work for sign in: this host can ask them to.';

/** For a request without a token. */
export const signInFirst = `This address needs a sign-in. ${askToSignIn} Hosts that cannot sign people in connect to /mcp instead.`;

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
