import { type AuthorizationServer, type Client, processGenericTokenEndpointResponse } from 'oauth4webapi';
import { grantSeconds } from './grants.ts';
import { IssuerFailure, wordsOf } from './issuer-failure.ts';
import type { IssuedTokens } from './seal.ts';

/** The members of an answer. */
export type Answer = Record<string, unknown>;

/** The members of an answer; undefined if it is no JSON object, such as a page. */
export async function readAnswer(response: Response): Promise<Answer | undefined> {
  try {
    const value: unknown = JSON.parse(await response.text());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : undefined;
  } catch {
    return undefined;
  }
}

const isEmpty = (value: unknown): boolean => value === null || value === '';

/** Answers as issuers give them, in the form of RFC 6749 section 5.1: lists of scopes, numbers in quotation marks, lives that stand for "never", empty members, no type. */
function mend({ id_token: _, expires_in, scope, ...answer }: Answer): Answer {
  const seconds = Number(isEmpty(expires_in) ? Number.NaN : expires_in);
  return {
    token_type: 'bearer',
    ...Object.fromEntries(Object.entries(answer).filter(([, value]) => !isEmpty(value))),
    ...(Number.isFinite(seconds) && seconds >= 0 && { expires_in: Math.min(seconds, grantSeconds) }),
    ...(Array.isArray(scope) ? { scope: scope.join(' ') } : typeof scope === 'string' && { scope }),
  };
}

/** A token that a header field can carry. */
const sendable = /^[\x21-\x7e]+$/;

/**
 * The tokens of an answer.
 * @param hide - removes secrets, which issuers may repeat
 * @throws IssuerFailure
 */
export async function toTokens(
  server: AuthorizationServer,
  client: Client,
  status: number,
  answer: Answer | undefined,
  hide: (text: string) => string,
): Promise<IssuedTokens> {
  // some issuers refuse with status 200
  const isRefused = status !== 200 || (answer !== undefined && isEmpty(answer.access_token ?? null) && typeof answer.error === 'string');
  if (isRefused) {
    const mayHaveActed = status >= 500 && status !== 503;
    const words = wordsOf(answer ?? {}, hide);
    const description = words.error === undefined ? `The issuer answered with status ${status}.` : words.description;
    throw new IssuerFailure(mayHaveActed ? 'unknown' : 'refused', { ...words, description });
  }
  try {
    const response = Response.json(mend(answer ?? {}));
    const tokens = await processGenericTokenEndpointResponse(server, client, response);
    const { access_token: access, refresh_token: refresh, token_type, expires_in, scope } = tokens;
    if (!sendable.test(access) || token_type !== 'bearer') throw new TypeError('the token cannot be sent');
    return { access, refresh, lifeSeconds: expires_in, scopes: scope?.split(' ').filter((one) => one !== '') };
  } catch (cause) {
    throw new IssuerFailure('unknown', { description: 'The answer of the issuer contains no token that can be used.', cause });
  }
}
