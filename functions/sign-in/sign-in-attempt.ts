import * as z from 'zod';
import { authorizationParameters } from '../../schemas/sign-in/sign-in.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { ApiResponse } from '../core/http/response.ts';
import { type AuthorizationRequest, toQuery } from './authorization-request.ts';
import { OAuthError } from './oauth-error.ts';
import { redirect } from './pages.ts';
import { readCookie, writeCookie } from './session.ts';
import type { SignInAttempt, UserPool } from './user-pool.ts';

/** How long a person has to sign in at the user pool, in seconds. */
const attemptSeconds = 15 * 60;

/** Browsers limit a cookie to 4,096 bytes, including its attributes. */
const maxCookieLength = 3_800;

/**
 * Cookies for an authorization request that is too long for that of the attempt. They need no protection against other hosts: anybody can send a
 * person to `/oauth/authorize` with any request, and the page with the policy shows it.
 */
const requestCookies = ['intent-gate-request-1', 'intent-gate-request-2'];
const callbackPath = '/oauth/signed-in';

const attemptSchema = z.object({ attempt: z.string(), verifier: z.string() });

/** What follows a sign-in: an authorization request, or a page of the gate. */
type Destination = AuthorizationRequest | { back: string };

const pagePath = /^(?:\/[\w-]+)+$/;

/** As a query, but with as few escapes as cookies (RFC 6265 section 4.1.1) and URLSearchParams allow: a `state` may have 4,096 characters. */
const toCookieText = (destination: Destination): string =>
  [...toQuery(destination)].map(([name, value]) => `${name}=${value.replace(/[^!#$'-*\--:<-[\]-~]/gu, encodeURIComponent)}`).join('&');

/** Removes the cookies of a long request that the browser has sent. */
export const forgetRequest = (request: ApiRequest): string[] =>
  requestCookies.flatMap((name) =>
    readCookie(request, name, callbackPath) === undefined ? [] : [writeCookie(request, '', 0, name, callbackPath)],
  );

/**
 * Redirects a person to the user pool. What follows is stored in cookies only.
 * @throws OAuthError if the request is too long for cookies
 */
export function beginSignIn(
  userPool: Pick<UserPool, 'begin' | 'signInAddress'>,
  request: ApiRequest,
  destination: Destination,
): ApiResponse {
  const { state, verifier } = userPool.begin();
  const attempt = `attempt=${state}&verifier=${verifier}`;
  const text = toCookieText(destination);
  const address = userPool.signInAddress({ state, verifier }, request.baseUrl);
  const whole = `${attempt}&${text}`;
  if (whole.length <= maxCookieLength) return redirect(address, [writeCookie(request, whole, attemptSeconds)]);
  if (text.length > requestCookies.length * maxCookieLength)
    throw new OAuthError('invalid_request', 'The request is too long. Shorten state and the URLs.');
  return redirect(address, [
    writeCookie(request, attempt, attemptSeconds),
    ...requestCookies.map((name, at) =>
      writeCookie(request, text.slice(at * maxCookieLength, (at + 1) * maxCookieLength), attemptSeconds, name, callbackPath),
    ),
  ]);
}

/**
 * Reads the cookies that {@link beginSignIn} set.
 * @param state - returned by the user pool
 * @returns also the path of what follows
 * @throws OAuthError access_denied if this browser did not begin this attempt
 */
export function readAttempt(request: ApiRequest, state: string | undefined): { attempt: SignInAttempt; path: string } {
  const fieldsOf = (text: string | undefined) => Object.fromEntries(new URLSearchParams(text));
  const fields = fieldsOf(readCookie(request));
  const remembered = attemptSchema.safeParse(fields);
  const text = requestCookies.map((name) => readCookie(request, name, callbackPath) ?? '').join('');
  const authRequest = authorizationParameters.safeParse('client_id' in fields ? fields : fieldsOf(text));
  const isPage = pagePath.test(String(fields.back));
  if (!remembered.success || !(isPage || authRequest.success) || remembered.data.attempt !== state) {
    throw new OAuthError(
      'access_denied',
      'This sign-in was started in another browser, has expired, or was started again in another window.',
    );
  }
  const path = isPage ? String(fields.back) : `/oauth/authorize?${toQuery(authRequest.data ?? {})}`;
  return { attempt: { state: remembered.data.attempt, verifier: remembered.data.verifier }, path };
}
