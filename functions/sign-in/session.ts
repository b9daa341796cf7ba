import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ApiRequest } from '../core/http/request.ts';
import type { Person, SignIns } from './sign-ins.ts';

export interface Session {
  /** known to the person's browser only */
  secret: string;
  person: Person;
}

/** The cookie with the secret of the session. */
const sessionCookie = 'intent-gate-sign-in';

/** With `__Host-`, no other host can set the cookie (RFC 6265bis section 4.1.3); `__Secure-`, for other paths, only requires https. */
const prefixOf = (baseUrl: string, path: string): string => {
  if (!baseUrl.startsWith('https:')) return '';
  return path === '/' ? '__Host-' : '__Secure-';
};

/** Cookies whose names begin like this, as pairs of the rest of the name and the value. */
export function readCookies(request: ApiRequest, name: string, path = '/'): [rest: string, value: string][] {
  const prefix = prefixOf(request.baseUrl, path) + name;
  const pairs = request.headerValues('cookie').flatMap((field) => field.split(';').map((pair) => pair.trim()));
  const found = pairs.filter((pair) => pair.startsWith(prefix)).map((pair) => pair.slice(prefix.length).split('='));
  return found.map(([rest = '', ...value]) => [rest, value.join('=')]);
}

/** The value of a cookie; undefined if there are two, since only one can be ours. */
export function readCookie(request: ApiRequest, name = sessionCookie, path = '/'): string | undefined {
  const [[, value] = [], ...more] = readCookies(request, name, path).filter(([rest]) => rest === '');
  return more.length === 0 && value !== '' ? value : undefined;
}

/** @param path - browsers send the cookie only there, so that a long one does not fill the headers of other requests */
export const writeCookie = ({ baseUrl }: ApiRequest, value: string, lifeSeconds: number, name = sessionCookie, path = '/'): string =>
  `${prefixOf(baseUrl, path)}${name}=${value}; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=${lifeSeconds}${baseUrl.startsWith('https:') ? '; Secure' : ''}`;

/** A token that only a page made for this session and content can send back. */
export const formToken = (session: string, content: unknown): string =>
  createHmac('sha256', session)
    .update(`accept ${JSON.stringify(content)}`)
    .digest('base64url');

export const isFormToken = (given: string, expected: string): boolean =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));

export async function findSession(request: ApiRequest, signIns: Pick<SignIns, 'findSession'>, nowMs: number): Promise<Session | undefined> {
  const secret = readCookie(request);
  if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return undefined;
  const person = await signIns.findSession(secret, nowMs);
  return person && { secret, person };
}
