import { CognitoJwtVerifier } from 'aws-jwt-verify';
import { assertIsJwks, SimpleJwksCache } from 'aws-jwt-verify/jwk';
import { ApiError, unavailable } from '../api-error.ts';
import { readEnvironment, splitList } from '../environment.ts';
import { bearerToken, invalidToken } from '../http/bearer.ts';
import type { ApiRequest } from '../http/request.ts';

/** The group whose members are admins. */
export const adminGroup = 'admins';

export interface AdminSettings {
  userPool: string;
  /** the app clients whose access tokens count */
  clientIds: string[];
  /** the scope that makes a machine client an admin */
  adminScope: string;
}

/** Who an admin is. */
export interface Admin {
  /** user name of a person, client id of a machine */
  actor: string;
}

/** Admits admins; throws for everyone else. */
export type VerifyAdmin = (request: ApiRequest) => Promise<Admin>;

/**
 * Admins are the members of the group `admins`, and machine clients with the admin scope. Only Cognito access tokens count:
 * never an ID token, never an attribute that a user may write.
 * @returns a check that throws ApiError UNAUTHORIZED (no token or a bad one), FORBIDDEN (not an admin) or SERVICE_UNAVAILABLE (no key set)
 */
export function openAdminVerifier({ userPool, clientIds, adminScope }: AdminSettings): VerifyAdmin {
  const verifier = CognitoJwtVerifier.create(
    { userPoolId: userPool, tokenUse: 'access', clientId: clientIds },
    { jwksCache: openKeySet() },
  );

  return async (request) => {
    const token = bearerToken(request);
    const claims = await verifier.verify(token).catch((error: unknown) => {
      throw error instanceof KeySetError
        ? unavailable('The key set of the admin tokens cannot be fetched. Try again after Retry-After.', error)
        : badToken(error);
    });
    // to the library, a token without an expiry never expires
    if (!Number.isSafeInteger(claims.exp)) throw badToken();
    if (!isAdmin(claims, adminScope)) {
      throw new ApiError('FORBIDDEN', `The token is genuine, but it is not an admin's. Ask for membership of the group ${adminGroup}.`, {
        details: { reason: 'not_admin' },
      });
    }
    return { actor: typeof claims.username === 'string' ? claims.username : claims.client_id };
  };
}

const badToken = (cause?: unknown) =>
  invalidToken('The admin token does not verify: it must be an unexpired access token of this deployment. Log in again.', cause);

/** @param claims - of a verified access token */
export function isAdmin(claims: { 'cognito:groups'?: unknown; scope?: unknown }, adminScope: string): boolean {
  const { 'cognito:groups': groups, scope } = claims;
  return (Array.isArray(groups) && groups.includes(adminGroup)) || (typeof scope === 'string' && scope.split(' ').includes(adminScope));
}

/** The key set could not be fetched or read; the token may be valid. */
class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** The issuer's keys, fetched when a token names one that is not known yet, at most every ten seconds for unknown ones. */
function openKeySet(): SimpleJwksCache {
  return new SimpleJwksCache({
    fetcher: {
      fetch: async (uri) => {
        try {
          const answer = await fetch(uri, { signal: AbortSignal.timeout(2_000), redirect: 'error' });
          if (!answer.ok) throw new KeySetError(`status ${answer.status}`);
          return await answer.arrayBuffer();
        } catch (error) {
          throw new KeySetError('the key set cannot be fetched', { cause: error });
        }
      },
    },
    jwksParser: (text) => {
      try {
        const keySet = JSON.parse(Buffer.from(text).toString());
        assertIsJwks(keySet);
        if (keySet.keys.length === 0) throw new KeySetError('the key set is empty');
        return keySet;
      } catch (error) {
        throw new KeySetError('the key set cannot be read', { cause: error });
      }
    },
  });
}

/** The verifier of this deployment. */
export function adminVerifierFromEnvironment(): VerifyAdmin {
  const { userPool, adminClients, adminScope } = readEnvironment(['userPool', 'adminClients', 'adminScope']);
  return openAdminVerifier({ userPool, clientIds: splitList(adminClients), adminScope });
}
