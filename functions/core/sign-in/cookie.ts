import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ApiRequest } from '../http/request.ts';

/**
 * The one cookie of sign-in: at first it says what goes on at the user pool, afterwards it holds the secret of the session. With its prefix no
 * other host can set it (RFC 6265bis section 4.1.3.2); the local stack, which speaks http, has to do without.
 */
const cookieName = (baseUrl: string): string => `${baseUrl.startsWith('https:') ? '__Host-' : ''}intent-gate-sign-in`;

/** The value of the cookie; none if there are two, since nobody knows which of them is ours. */
export function readCookie(request: ApiRequest): string | undefined {
  const prefix = `${cookieName(request.baseUrl)}=`;
  const pairs = request.headerValues('cookie').flatMap((field) => field.split(';').map((pair) => pair.trim()));
  const [value, ...more] = pairs.filter((pair) => pair.startsWith(prefix)).map((pair) => pair.slice(prefix.length));
  return more.length === 0 && value !== '' ? value : undefined;
}

/** Not readable by scripts, and not sent along with requests that pages of other sites make (a link to this one is no such request). */
export const writeCookie = ({ baseUrl }: ApiRequest, value: string, lifeSeconds: number): Record<string, string> => ({
  'Set-Cookie': `${cookieName(baseUrl)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${lifeSeconds}${baseUrl.startsWith('https:') ? '; Secure' : ''}`,
});

/** A text that only a page which was made for this session, and for this content, can send back. */
export const formToken = (session: string, content: unknown): string =>
  createHmac('sha256', session)
    .update(`accept ${JSON.stringify(content)}`)
    .digest('base64url');

export const isFormToken = (given: string, expected: string): boolean =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
