import type { AuthorizationGrant, SignIns } from '../activity/sign-ins.ts';
import { OAuthError } from './oauth-error.ts';
import { isLoopback } from './redirect-uri.ts';

/** Why `prompt=none` is not answered with a code (OpenID Connect Core section 3.1.2.6). */
export const loginRequired = () => new OAuthError('login_required', 'The person has to sign in. Ask again without prompt=none.');

/**
 * Grants what the person has accepted before, without asking (`prompt=none`).
 * @returns the code
 * @throws OAuthError consent_required
 */
export async function grantSilently(
  signIns: Pick<SignIns, 'hasConsented' | 'keepGrant'>,
  grant: AuthorizationGrant,
  nowMs: number,
): Promise<string> {
  // any program of the machine may listen there, so somebody has to look (RFC 8252 section 8.6)
  const maySkip = !isLoopback(grant.redirectUri) && (await signIns.hasConsented(grant, nowMs));
  if (!maySkip) throw new OAuthError('consent_required', 'The person has to accept the policy. Ask again without prompt=none.');
  return signIns.keepGrant(grant, nowMs);
}
