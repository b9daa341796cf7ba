/** The path of the MCP server for hosts that sign people in. */
export const signInPath = '/mcp/sign-in';

/** Where such a host reads how to get a token (RFC 9728 section 3.1). */
export const resourceMetadataPath = `/.well-known/oauth-protected-resource${signInPath}`;

/**
 * The authorization server's name for itself (RFC 8414 section 2). It has a path, so that its description is not at the root of the host: clients that look
 * there before anybody has asked them to would take every address of this host for one that needs a sign-in.
 */
export const issuerOf = (baseUrl: string): string => `${baseUrl}/oauth`;
