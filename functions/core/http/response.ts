import { createHash } from 'node:crypto';
import type { APIGatewayProxyResult } from 'aws-lambda';
import type { ErrorBody } from '../../../schemas/error-body.ts';
import { errorTable } from '../../../schemas/errors.ts';
import { ApiError } from '../api-error.ts';

export interface ApiResponse {
  status: number;
  /** left out for 204 and 304 */
  body?: unknown;
  /** sent unchanged instead of `body`; `headers` must have its Content-Type */
  text?: string;
  /** like `text`, for binary content */
  bytes?: Uint8Array;
  headers?: Record<string, string>;
}

export const ok = (body: unknown, headers: Record<string, string> = {}): ApiResponse => ({ status: 200, body, headers });

export const created = (body: unknown, headers: Record<string, string> = {}): ApiResponse => ({ status: 201, body, headers });

export const noContent = (): ApiResponse => ({ status: 204 });

export const entityTag = (text: string): string => `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;

export const recordTag = ({ rev }: { rev: number }): string => `"${rev}"`;

/** The entity tag of a record as admins see it. */
export const adminTag = ({ rev }: { rev: number }): string => `"${rev}.admin"`;

/**
 * The response to a cacheable read, with `ETag` and `Cache-Control: no-cache` (store, but revalidate before use), so that the next read sees every change.
 */
export const revalidated = (body: unknown, etag = entityTag(JSON.stringify(body)), headers: Record<string, string> = {}): ApiResponse =>
  ok(body, { ETag: etag, 'Cache-Control': 'no-cache', ...headers });

/** The entity tag of a record that is shown together with terms of a policy. */
export const withPolicy = (etag: string, policyDigest: string): string => `${etag.slice(0, -1)}~${policyDigest.slice(0, 8)}"`;

/**
 * Whether an `If-Match` field has one of `etags` (RFC 9110 section 13.1.1, strong comparison); `*` and an absent field match every tag. The suffix of
 * {@link withPolicy} is ignored, because a change of the policy does not change the record. Tags without quotation marks are accepted.
 */
export const matchesEntityTags = (field: string | undefined, etags: readonly string[]): boolean =>
  field === undefined ||
  field.split(',').some((candidate) => {
    const tag = candidate.trim().replace(/~[\w-]{8}("?)$/, '$1');
    return tag === '*' || etags.includes(tag) || etags.includes(`"${tag}"`);
  });

export const serialize = ({ status, body, text, bytes, headers }: ApiResponse, requestId: string): APIGatewayProxyResult => ({
  statusCode: status,
  headers: {
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
    ...headers,
  },
  body: bytes ? Buffer.from(bytes).toString('base64') : (text ?? (body === undefined ? '' : JSON.stringify(body))),
  ...(bytes && { isBase64Encoded: true }),
});

/** Converts an error to a response (specification section 7.1). Errors other than ApiError reveal nothing. */
export function describeError(
  error: unknown,
  { protocol, requestId, baseUrl }: { protocol: string; requestId: string; baseUrl: string },
): ApiResponse {
  const shown =
    error instanceof ApiError
      ? error
      : new ApiError(
          'INTERNAL_SERVER_ERROR',
          'The gate has failed. If the request makes a change or a call, first check whether it was made; then try again. If the problem persists, give details.request_id to the operators.',
        );
  const reference = `${protocol.toUpperCase()}-${errorTable[shown.code].reference}`;
  const body: ErrorBody = {
    error: {
      code: shown.code,
      message: shown.message,
      details: { ...shown.details, reference, request_id: requestId },
      help_url: `${baseUrl}/docs#${shown.code}`,
    },
  };
  return { status: shown.status, body, headers: shown.headers };
}
