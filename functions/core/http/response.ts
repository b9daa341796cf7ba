import { createHash } from 'node:crypto';
import type { APIGatewayProxyResult } from 'aws-lambda';
import type { ErrorBody } from '../../../schemas/error-body.ts';
import { errorTable } from '../../../schemas/errors.ts';
import { ApiError } from '../runtime/api-error.ts';

export interface ApiResponse {
  status: number;
  /** left out for 204 and 304 */
  body?: unknown;
  /** sent unchanged instead of `body`; `headers` must have its Content-Type */
  text?: string;
  /** like `text`, for binary content */
  bytes?: Uint8Array;
  headers?: Record<string, string>;
  /** values of `Set-Cookie` */
  cookies?: string[];
}

export const ok = (body: unknown, headers: Record<string, string> = {}): ApiResponse => ({ status: 200, body, headers });

export const created = (body: unknown, headers: Record<string, string> = {}): ApiResponse => ({ status: 201, body, headers });

export const noContent = (): ApiResponse => ({ status: 204 });

export const entityTag = (text: string): string => `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;

/** The entity tag of a record. The parts identify what a view shows besides the record. */
export const recordTag = ({ rev }: { rev: number }, ...parts: (string | number)[]): string => `"${[rev, ...parts].join('.')}"`;

/**
 * The response to a cacheable read, with `ETag` and `Cache-Control: no-cache` (store, but revalidate before use), so that the next read sees every change,
 * also that a page is not the last one any more.
 */
export const revalidated = (body: unknown, etag?: string, { Link: link = '', ...headers }: Record<string, string> = {}): ApiResponse =>
  ok(body, {
    ETag: etag ?? entityTag(JSON.stringify(body) + link),
    'Cache-Control': 'no-cache',
    ...(link !== '' && { Link: link }),
    ...headers,
  });

/**
 * Whether an `If-Match` field names a revision of a record (RFC 9110 section 13.1.1); `*` and an absent field name every revision. The entity tags of
 * all views of a record begin with its revision. Tags without quotation marks are accepted.
 * @param digest - of the record, as an alternative to its entity tags
 */
export const namesRevision = (field: string | undefined, { rev }: { rev: number }, digest?: string): boolean =>
  field === undefined ||
  field.split(',').some((candidate) => {
    const tag = candidate.trim().replace(/^"|"$/g, '');
    return tag === '*' || tag === digest || tag.split('.', 1)[0] === String(rev);
  });

export const serialize = ({ status, body, text, bytes, headers, cookies }: ApiResponse, requestId: string): APIGatewayProxyResult => ({
  statusCode: status,
  headers: {
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
    ...headers,
  },
  ...(cookies && { multiValueHeaders: { 'Set-Cookie': cookies } }),
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
