import { ApiError } from '../runtime/api-error.ts';
import type { ApiRequest } from './request.ts';

/** RFC 6750 section 2.1, RFC 9449 section 7.1 */
const credentials = {
  Bearer: /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i,
  DPoP: /^(?:bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i,
};

const missing = {
  Bearer: 'Send the header Authorization: Bearer <token>.',
  DPoP: 'Executing an intent needs a PAT. Sign the policy that GET /api/policy returns, get a PAT with POST /api/pat/issue, and send it in the header Authorization: Bearer <PAT>.',
};

/**
 * The bearer token of a request.
 * @param scheme - `DPoP` accepts both schemes; the caller has to check the proof
 * @throws ApiError UNAUTHORIZED unless the request has exactly one well-formed token
 */
export function bearerToken(request: ApiRequest, scheme: keyof typeof credentials = 'Bearer'): string {
  const [field, ...more] = request.headerValues('authorization');
  if (field === undefined) throw unauthorized(missing[scheme]);
  const token = more.length === 0 ? credentials[scheme].exec(field)?.[1] : undefined;
  if (token === undefined) throw invalidToken('The Authorization header must be sent once and have the form Bearer <token>.');
  return token;
}

/** 401 for a request without a token: no `error` attribute (RFC 6750 section 3.1). */
export const unauthorized = (message: string) =>
  new ApiError('UNAUTHORIZED', message, { headers: { 'WWW-Authenticate': 'Bearer realm="intent-gate"' } });

/** 401 for an invalid token. */
export const invalidToken = (message: string, cause?: unknown) =>
  new ApiError('UNAUTHORIZED', message, { cause, headers: { 'WWW-Authenticate': 'Bearer realm="intent-gate", error="invalid_token"' } });
