import * as z from 'zod';
import { authorizationParameters } from '../../../schemas/sign-in.ts';
import type { ApiRequest } from '../http/request.ts';
import type { ApiResponse } from '../http/response.ts';
import { type AuthorizationRequest, toQuery } from './authorization-request.ts';
import { OAuthError } from './oauth-error.ts';
import { redirect } from './pages.ts';
import { readCookie, writeCookie } from './session.ts';
import type { SignInAttempt, UserPool } from './user-pool.ts';

/** How long a person has to sign in at the user pool, in seconds. */
const attemptSeconds = 15 * 60;

/** Browsers limit a cookie to 4,096 bytes, including its attributes. */
const maxCookieLength = 3_800;

const rememberedSchema = authorizationParameters.extend({ attempt: z.string(), verifier: z.string() });

/**
 * Redirects a person to the user pool. The request is stored in the cookie only.
 * @throws OAuthError if the request is too long for a cookie
 */
export function beginSignIn(
  userPool: Pick<UserPool, 'begin' | 'signInAddress'>,
  request: ApiRequest,
  authRequest: AuthorizationRequest,
): ApiResponse {
  const attempt = userPool.begin();
  const remembered = new URLSearchParams([...toQuery(authRequest), ['attempt', attempt.state], ['verifier', attempt.verifier]]).toString();
  if (remembered.length > maxCookieLength) throw new OAuthError('invalid_request', 'The request is too long. Shorten state and the URLs.');
  return redirect(userPool.signInAddress(attempt, request.baseUrl), writeCookie(request, remembered, attemptSeconds));
}

/**
 * Reads the cookie that {@link beginSignIn} set.
 * @param state - returned by the user pool
 * @throws OAuthError access_denied if this browser did not begin this attempt
 */
export function readAttempt(request: ApiRequest, state: string | undefined): { attempt: SignInAttempt; authRequest: AuthorizationRequest } {
  const remembered = rememberedSchema.safeParse(Object.fromEntries(new URLSearchParams(readCookie(request))));
  if (!remembered.success || remembered.data.attempt !== state) {
    throw new OAuthError(
      'access_denied',
      'This sign-in was started in another browser, has expired, or was started again in another window.',
    );
  }
  const { attempt, verifier, ...authRequest } = remembered.data;
  return { attempt: { state: attempt, verifier }, authRequest };
}
