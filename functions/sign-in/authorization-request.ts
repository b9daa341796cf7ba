import type * as z from 'zod';
import type { authorizationParameters } from '../../schemas/sign-in/sign-in.ts';
import { signInPath } from '../core/http/sign-in-address.ts';
import type { Client } from './clients.ts';
import { issuerOf } from './metadata.ts';
import { describeOAuthError, OAuthError } from './oauth-error.ts';
import { isLoopback, matchesRedirectUri } from './redirect-uri.ts';
import type { AuthorizationGrant, SignIns } from './sign-ins.ts';

export type AuthorizationRequest = z.infer<typeof authorizationParameters>;

export interface CheckedRequest {
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  resource?: string | undefined;
}

/** Equivalent identifiers of this gate as a resource (RFC 8707). */
const resourcesOf = (baseUrl: string): string[] => [`${baseUrl}${signInPath}`, `${baseUrl}/mcp`, baseUrl];

/** Without a slash at the end, which many clients add, and with scheme and host in lower case (RFC 3986 section 6.2.3). */
export const normalResource = (resource: string): string => (URL.parse(resource)?.href ?? resource).replace(/\/$/, '');

export const isResource = (resource: string, baseUrl: string): boolean => resourcesOf(baseUrl).includes(normalResource(resource));

const challenge = /^[A-Za-z0-9_-]{43}$/;

/** @throws OAuthError if the redirect_uri is not the client's; the error must not be redirected to it */
export function requireRedirectUri({ redirectUris }: Client, { redirect_uri }: Pick<AuthorizationRequest, 'redirect_uri'>): void {
  if (redirectUris.some((registered) => matchesRedirectUri(registered, redirect_uri))) return;
  throw new OAuthError('invalid_request', 'The redirect_uri must be one of those that the client has registered, and match it exactly.');
}

/** @throws OAuthError */
export function checkAuthorizationRequest(authRequest: AuthorizationRequest, baseUrl: string): CheckedRequest {
  const { response_type, code_challenge = '', code_challenge_method, resource, prompt } = authRequest;
  if (response_type === undefined) throw new OAuthError('invalid_request', 'The request must have the response_type code.');
  if (response_type !== 'code') throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  if (code_challenge_method !== 'S256' || !challenge.test(code_challenge)) {
    throw new OAuthError('invalid_request', 'The request must have a code_challenge with the code_challenge_method S256 (RFC 7636).');
  }
  if (resource !== undefined && !isResource(resource, baseUrl)) {
    throw new OAuthError('invalid_target', `The resource (RFC 8707) must be ${resourcesOf(baseUrl).join(' or ')}.`);
  }
  if (prompt !== undefined && prompt !== 'none' && prompt !== 'consent') {
    throw new OAuthError('invalid_request', 'If given, prompt must be none or consent.');
  }
  return { clientId: authRequest.client_id, redirectUri: authRequest.redirect_uri, codeChallenge: code_challenge, resource };
}

/**
 * Grants what the person has accepted before, without asking (`prompt=none`; OpenID Connect Core section 3.1.2.6).
 * @returns the code
 * @throws OAuthError consent_required
 */
export async function grantSilently(
  signIns: Pick<SignIns, 'hasConsented' | 'keepGrant'>,
  grant: AuthorizationGrant,
  nowMs: number,
): Promise<string> {
  // any program on the machine may listen on loopback, so a person has to confirm (RFC 8252 section 8.6)
  const maySkip = !isLoopback(grant.redirectUri) && (await signIns.hasConsented(grant, nowMs));
  if (!maySkip)
    throw new OAuthError('consent_required', 'The person has to accept the policy. Send the request again without prompt=none.');
  return signIns.keepGrant(grant, nowMs);
}

/** The address that redirects the response to the client, with the issuer (RFC 9207). */
export function answerAddress(
  authRequest: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
  baseUrl: string,
  answer: { code: string } | OAuthError,
): string {
  const query = new URLSearchParams({
    ...(answer instanceof OAuthError ? describeOAuthError(answer) : answer),
    ...(authRequest.state !== undefined && { state: authRequest.state }),
    iss: issuerOf(baseUrl),
  });
  return `${authRequest.redirect_uri}${authRequest.redirect_uri.includes('?') ? '&' : '?'}${query}`;
}

export const toQuery = (members: object): URLSearchParams => new URLSearchParams(JSON.parse(JSON.stringify(members)));
