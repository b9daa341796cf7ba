import type { ApiError } from '../api-error.ts';
import type { ApiRequest } from '../http/request.ts';
import { resourceMetadataPath, signInPath } from '../sign-in/metadata.ts';

/**
 * Whether a call is refused because its connection has no PAT, a dead one, or one for an earlier policy: the host can mend that, and a model
 * cannot.
 */
export const isOfConnection = ({ details: { reason } }: ApiError, request: ApiRequest): boolean =>
  reason === 'pat_missing' ||
  reason === 'pat_of_connection' ||
  (reason === 'policy_changed' && request.header('authorization') !== undefined);

/** Whether a request came to the address for hosts that sign people in; at `/mcp` itself, nobody is ever asked to. */
export const isSigningIn = ({ path }: ApiRequest): boolean => path.replace(/\/$/, '') === signInPath;

/** What a 401 carries: where a host finds out how to get a token (RFC 9728 section 5.1). */
export const challengeHeaders = ({ headers }: ApiError, { baseUrl }: ApiRequest): Record<string, string> => ({
  'WWW-Authenticate': `${headers['WWW-Authenticate'] ?? 'Bearer realm="intent-gate"'}, resource_metadata="${baseUrl}${resourceMetadataPath}"`,
});
