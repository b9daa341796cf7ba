import * as z from 'zod';
import { authorizationParameters } from '../../schemas/sign-in/sign-in.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { ApiResponse } from '../core/http/response.ts';
import { type AuthorizationRequest, toQuery } from './authorization-request.ts';
import { OAuthError } from './oauth-error.ts';
import { redirect } from './pages.ts';
import { readCookie, readCookies, writeCookie } from './session.ts';
import type { SignInAttempt, UserPool } from './user-pool.ts';

/** How long a person has to sign in at the user pool, in seconds. */
const attemptSeconds = 15 * 60;

/** Browsers limit a cookie to 4,096 bytes, including its attributes. */
const maxCookieLength = 3_800;

/** Each attempt has cookies of its own, so that programs which send the person here at the same time do not end each other's. */
const attemptCookie = 'intent-gate-attempt-';
const idOf = (state = ''): string => state.slice(0, 8);

/** The cookies of so many attempts fit into the headers that API Gateway accepts, or those of one that is marked as long. */
const maxAttempts = 4;

/** Longer requests are marked as long: so that even attempts which begin at once, and do not see each other's cookies, seldom exceed those headers. */
const maxShortLength = 1_200;

/**
 * Cookies for what follows an attempt. They need no protection against other hosts: anybody can send a person to `/oauth/authorize` with any request,
 * and the page with the policy shows it; a page that follows is one of the gate's own.
 */
const destinationCookies = (id: string) => [1, 2].map((part) => `intent-gate-request-${id}-${part}`);
const callbackPath = '/oauth/signed-in';

const attemptSchema = z.object({ state: z.string(), verifier: z.string() });

/** What follows a sign-in: an authorization request, or a page of the gate. */
type Destination = AuthorizationRequest | { back: string };

const pagePath = /^(?:\/[\w-]+)+$/;

/**
 * As a query, but with as few escapes as cookies (RFC 6265 section 4.1.1) and URLSearchParams allow, because a `state` may have 4,096 characters. A value
 * that is shorter in base64url is written so, with a dot after its name.
 */
const toCookieText = (destination: Destination): string =>
  [...toQuery(destination)]
    .map(([name, value]) => {
      const escaped = value.replace(/[^!#$'-*\--:<-[\]-~]/gu, encodeURIComponent);
      const packed = Buffer.from(value).toString('base64url');
      return packed.length < escaped.length ? `${name}.=${packed}` : `${name}=${escaped}`;
    })
    .join('&');

const readCookieText = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) =>
      name.endsWith('.') ? [name.slice(0, -1), Buffer.from(value, 'base64url').toString()] : [name, value],
    ),
  );

const forget = (request: ApiRequest, id: string, isLong: boolean): string[] => [
  writeCookie(request, '', 0, attemptCookie + id),
  ...destinationCookies(id).flatMap((name, at) => (at === 0 || isLong ? [writeCookie(request, '', 0, name, callbackPath)] : [])),
];

/** Removes the cookies of an attempt. */
export const forgetAttempt = (request: ApiRequest, state: string | undefined): string[] => forget(request, idOf(state), true);

/** Ends earlier attempts for which another one leaves no room. Cookies do not tell their age, so it is all of them, or those marked as long. */
const makeRoom = (request: ApiRequest, isLong: boolean): string[] => {
  const earlier = readCookies(request, attemptCookie).filter(([id]) => /^[\w-]{8}$/.test(id));
  const isFull = isLong || earlier.length >= maxAttempts;
  return earlier.flatMap(([id, value]) => {
    const wasLong = value.endsWith('&long');
    return isFull || wasLong ? forget(request, id, wasLong) : [];
  });
};

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
  const text = toCookieText(destination);
  const names = destinationCookies(idOf(state));
  if (text.length > names.length * maxCookieLength)
    throw new OAuthError('invalid_request', 'The request is too long. Shorten state and the URLs.');
  const isLong = text.length > maxShortLength;
  const parts = names.map((name, at) => [name, text.slice(at * maxCookieLength, (at + 1) * maxCookieLength)] as const);
  return redirect(userPool.signInAddress({ state, verifier }, request.baseUrl), [
    ...makeRoom(request, isLong),
    writeCookie(request, `state=${state}&verifier=${verifier}${isLong ? '&long' : ''}`, attemptSeconds, attemptCookie + idOf(state)),
    ...parts.flatMap(([name, part]) => (part === '' ? [] : [writeCookie(request, part, attemptSeconds, name, callbackPath)])),
  ]);
}

/**
 * Reads the cookies that {@link beginSignIn} set.
 * @param state - returned by the user pool
 * @returns also the path of what follows
 * @throws OAuthError access_denied if this browser did not begin this attempt
 */
export function readAttempt(request: ApiRequest, state: string | undefined): { attempt: SignInAttempt; path: string } {
  const id = idOf(state);
  const remembered = attemptSchema.safeParse(readCookieText(readCookie(request, attemptCookie + id) ?? ''));
  const fields = readCookieText(
    destinationCookies(id)
      .map((name) => readCookie(request, name, callbackPath) ?? '')
      .join(''),
  );
  const authRequest = authorizationParameters.safeParse(fields);
  const isPage = pagePath.test(String(fields.back));
  if (!remembered.success || !(isPage || authRequest.success) || remembered.data.state !== state) {
    throw new OAuthError('access_denied', 'This sign-in was started in another browser, or has ended or expired.');
  }
  const path = isPage ? String(fields.back) : `/oauth/authorize?${toQuery(authRequest.data ?? {})}`;
  return { attempt: remembered.data, path };
}
