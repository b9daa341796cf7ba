import { ApiError } from './api-error.ts';
import type { ApiRequest } from './request.ts';

/** RFC 6750 section 2.1: the scheme in any case, one space, a b64token. */
const bearerCredential = /^bearer ([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The bearer token of a request.
 * @throws ApiError UNAUTHORIZED where there is none, more than one, or no well-formed one
 */
export function bearerToken(request: ApiRequest): string {
  const [field, ...more] = request.headerValues('authorization');
  if (field === undefined) throw unauthorized('Send the header Authorization: Bearer <token>.');
  const token = more.length === 0 ? bearerCredential.exec(field)?.[1] : undefined;
  if (token === undefined) throw invalidToken('The Authorization header must be sent once and have the form Bearer <token>.');
  return token;
}

/** 401 for a request without a token: no `error` attribute (RFC 6750 section 3.1). */
export const unauthorized = (message: string) =>
  new ApiError('UNAUTHORIZED', message, { headers: { 'WWW-Authenticate': 'Bearer realm="intent-gate"' } });

/** 401 for a token that does not hold. */
export const invalidToken = (message: string, cause?: unknown) =>
  new ApiError('UNAUTHORIZED', message, { cause, headers: { 'WWW-Authenticate': 'Bearer realm="intent-gate", error="invalid_token"' } });
