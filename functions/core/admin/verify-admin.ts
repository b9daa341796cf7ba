import { CognitoJwtVerifier } from 'aws-jwt-verify';
import { JwtExpiredError } from 'aws-jwt-verify/error';
import { assertIsJwks, SimpleJwksCache } from 'aws-jwt-verify/jwk';
import { importIdPattern, importIdProblem } from '../../../schemas/header.ts';
import { isNamespace } from '../../../schemas/intent-uid.ts';
import { bearerToken, invalidToken } from '../http/bearer.ts';
import type { ApiRequest } from '../http/request.ts';
import { ApiError, invalidParameter, unavailable } from '../runtime/api-error.ts';
import { readEnvironment, splitList } from '../runtime/environment.ts';
import type { Actor, Admin } from './admin.ts';

/** Members of this group may change everything, and members of `admins:<namespace>` that namespace. */
const adminGroup = 'admins';

export interface AdminSettings {
  userPool: string;
  clientIds: string[];
  /** machine clients with this scope may change everything, and those with `<scope>:<namespace>` that namespace */
  adminScope: string;
}

/** Identifies the admin who sent a request; throws if the sender is not an admin. */
export type VerifyAdmin = (request: ApiRequest) => Promise<Admin>;

/**
 * Admins are members of the group `admins` or of a namespace's group, and machine clients with the corresponding scopes.
 * Only Cognito access tokens are accepted, never ID tokens or attributes that users can write.
 * @returns a check that throws ApiError UNAUTHORIZED (no token or a bad one), FORBIDDEN (not an admin) or SERVICE_UNAVAILABLE (no key set)
 */
export function openAdminVerifier({ userPool, clientIds, adminScope }: AdminSettings): VerifyAdmin {
  const verify = openAccessTokenVerifier(userPool, clientIds, badToken);

  return async (request) => {
    const claims = await verify(bearerToken(request));
    const rights = readRights(claims, adminScope);
    if (!rights) {
      throw new ApiError('FORBIDDEN', `The token is valid, but does not belong to an admin. Ask to be added to the group ${adminGroup}.`, {
        details: { reason: 'not_admin' },
      });
    }
    const importId = request.header('import-id');
    if (importId !== undefined && !importIdPattern.test(importId))
      throw invalidParameter([{ path: '', problem: `the header Import-Id ${importIdProblem}` }]);
    return { actor: toActor(claims), ...rights, requestId: request.requestId, ...(importId !== undefined && { importId }) };
  };
}

/**
 * Verifies access tokens that a user pool has issued to certain app clients.
 * @param refuse - creates the error for any other token
 * @returns a check that throws the result of `refuse`, or ApiError SERVICE_UNAVAILABLE (no key set)
 */
export function openAccessTokenVerifier(userPoolId: string, clientId: string[], refuse: (cause?: unknown) => Error) {
  const verifier = CognitoJwtVerifier.create({ userPoolId, tokenUse: 'access', clientId }, { jwksCache: new KeySets() });
  return async (token: string) => {
    const claims = await verifier.verify(token).catch((error: unknown) => {
      throw error instanceof KeySetError
        ? unavailable('The key set of the user pool, which verifies the token, cannot be fetched. Try again after Retry-After.', error)
        : refuse(error);
    });
    // the library accepts tokens without an expiry
    if (!Number.isSafeInteger(claims.exp)) throw refuse();
    return claims;
  };
}

const badToken = (cause?: unknown) =>
  invalidToken('The admin token is not valid: it must be an unexpired access token of this deployment. Log in again.', cause);

interface RightsClaims {
  'cognito:groups'?: unknown;
  scope?: unknown;
}

/** The rights that a token grants; undefined if its holder is not an admin. */
export function readRights({ 'cognito:groups': groups, scope }: RightsClaims, adminScope: string): Pick<Admin, 'namespaces'> | undefined {
  const named = [...suffixes(Array.isArray(groups) ? groups : [], adminGroup), ...suffixes(textOf(scope).split(' '), adminScope)];
  if (named.includes('')) return {};
  const namespaces = named.filter((suffix) => suffix.startsWith(':') && isNamespace(suffix.slice(1))).map((suffix) => suffix.slice(1));
  return namespaces.length > 0 ? { namespaces: [...new Set(namespaces)] } : undefined;
}

const suffixes = (names: readonly unknown[], prefix: string): string[] =>
  names.flatMap((name) => (typeof name === 'string' && name.startsWith(prefix) ? [name.slice(prefix.length)] : []));

const textOf = (claim: unknown): string => (typeof claim === 'string' ? claim : '');

/** Cognito names the user in tokens of people. Tokens of machines have the client as their subject. */
function toActor({ sub, username, client_id: clientId }: { sub: string; username?: unknown; client_id: string }): Actor {
  return { subject: sub, ...(typeof username === 'string' ? { user_name: username } : { client_id: clientId }) };
}

/** The key set could not be fetched or read; the token may be valid. */
class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** The issuer's keys, fetched when a token names an unknown key; if they do not include it, at most every ten seconds. */
class KeySets extends SimpleJwksCache {
  constructor() {
    super({ fetcher: { fetch: fetchKeys }, jwksParser: readKeys });
  }

  override async getJwks(uri: string) {
    try {
      return await super.getJwks(uri);
    } catch (cause) {
      throw new KeySetError('the key set cannot be fetched or read', { cause });
    }
  }
}

async function fetchKeys(uri: string): Promise<ArrayBuffer> {
  const options = { headers: { connection: 'close' }, signal: AbortSignal.timeout(2_000), redirect: 'error' } as const;
  const answer = await fetch(uri, options);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.arrayBuffer();
}

/** Throws before the set is cached, so that an empty one does not replace known keys. */
function readKeys(bytes: ArrayBuffer) {
  const keySet = JSON.parse(Buffer.from(bytes).toString());
  assertIsJwks(keySet);
  if (keySet.keys.length === 0) throw new TypeError('the key set is empty');
  return keySet;
}

/**
 * The admin who calls a public endpoint, if any. Other tokens are ignored.
 * @param refusesExpired - whether a token that has expired is refused, so that its admin does not take drafts for missing
 */
export async function findAdmin(request: ApiRequest, verifyAdmin: VerifyAdmin, refusesExpired = false): Promise<Admin | undefined> {
  if (request.headerValues('authorization').length === 0) return undefined;
  try {
    return await verifyAdmin(request);
  } catch (error) {
    const isNoAdmin = error instanceof ApiError && ['UNAUTHORIZED', 'FORBIDDEN', 'INVALID_PARAMETER'].includes(error.code);
    if (!isNoAdmin || (refusesExpired && error.cause instanceof JwtExpiredError)) throw error;
    return undefined;
  }
}

export function adminVerifierFromEnvironment(): VerifyAdmin {
  const { userPool, adminClients, adminScope } = readEnvironment(['userPool', 'adminClients', 'adminScope']);
  return openAdminVerifier({ userPool, clientIds: splitList(adminClients), adminScope });
}
