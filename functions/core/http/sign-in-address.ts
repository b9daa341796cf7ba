/** The address of the MCP server for hosts that sign people in, which API Gateway, MCP and sign-in know. */
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
 * The body of a refusal, in JSON-RPC 2.0. The code is specific to this server: the connection needs a PAT, which the host gets when its user signs in.
 * @param id - of the request, if it could be read
 */
export const describeSignInRefusal = (refusal: { code: string; message: string; details: object }, id?: unknown) => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  error: { code: -32041, message: refusal.message, data: { error: refusal } },
});
