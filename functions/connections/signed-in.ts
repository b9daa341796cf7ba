import { openAccessTokenVerifier } from '../core/admin/verify-admin.ts';
import { bearerToken, invalidToken } from '../core/http/bearer.ts';
import type { ApiRequest } from '../core/http/request.ts';
import { readEnvironment, splitList } from '../core/runtime/environment.ts';

/** Identifies the person who sent a request. @returns the `sub` of the person; throws ApiError UNAUTHORIZED or SERVICE_UNAVAILABLE */
export type VerifyPerson = (request: ApiRequest) => Promise<string>;

const noPerson = (cause?: unknown) =>
  invalidToken('The token is not valid: it must be the unexpired access token of a person who has signed in here. Log in again.', cause);

/** Accepts the access tokens of any user, from the console and the command line; they need no group. */
export function openPersonVerifier(userPool: string, clientIds: string[]): VerifyPerson {
  const verify = openAccessTokenVerifier(userPool, clientIds, noPerson);
  return async (request) => {
    const { sub, username } = await verify(bearerToken(request));
    // tokens of machines have none
    if (typeof username !== 'string') throw noPerson();
    return sub;
  };
}

export function personVerifierFromEnvironment(): VerifyPerson {
  const { userPool, adminClients } = readEnvironment(['userPool', 'adminClients']);
  return openPersonVerifier(userPool, splitList(adminClients));
}
