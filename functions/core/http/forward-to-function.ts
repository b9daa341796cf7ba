import * as z from 'zod';
import { errorBody } from '../../../schemas/error-body.ts';
import { openFunction } from '../aws/invoke-function.ts';
import { ApiError, unavailable } from '../runtime/api-error.ts';
import { traceHeaders } from '../runtime/trace.ts';
import type { ApiRequest } from './request.ts';
import type { ApiResponse } from './response.ts';
import type { Action } from './serve.ts';

export interface ForwardTarget {
  /** GET forwards the query, POST the JSON body */
  method: 'GET' | 'POST';
  path: string;
  timeoutMs: number;
  /** forwards the caller's PAT or token, on which the answer depends */
  isWithToken?: boolean;
}

const forwardedHeaders = ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate'];

const proxyResult = z.object({ statusCode: z.number(), headers: z.record(z.string(), z.string()), body: z.string() });

/**
 * Makes an action that forwards requests to another function of this gate, which has the code or permissions for them. That function logs the same
 * request id. Failures are not retried, because the first attempt may have used up a signed document.
 * @returns an action that throws the endpoint's refusal, or ApiError SERVICE_UNAVAILABLE if the function does not answer
 */
export function forwardToFunction(nameOrArn: string, target: ForwardTarget): Action {
  const send = openFunction(nameOrArn, 'RequestResponse', target.timeoutMs);

  return async (request): Promise<ApiResponse> => {
    const answer = await send(eventOf(request, target)).catch((error) => {
      throw unavailable('Another part of the gate cannot be reached. Try again after Retry-After.', error);
    });
    const { statusCode, headers, body } = proxyResult.parse(JSON.parse(answer));
    const content: unknown = JSON.parse(body);
    if (statusCode < 300) return { status: statusCode, body: content };
    const { code, message, details } = errorBody.parse(content).error;
    const relayed = forwardedHeaders.flatMap((header) => (headers[header] === undefined ? [] : [[header, headers[header]]]));
    throw new ApiError(code, message, { status: statusCode, headers: Object.fromEntries(relayed), ...(details && { details }) });
  };
}

/** The event that API Gateway would send, reduced to what endpoints read. */
function eventOf(request: ApiRequest, { method, path, isWithToken = false }: ForwardTarget): object {
  const proof = request.header('dpop');
  const tokens = isWithToken ? request.headerValues('authorization') : [];
  const headers = { 'Content-Type': 'application/json', ...(proof !== undefined && { DPoP: proof }), ...traceHeaders() };
  const { host, pathname } = new URL(request.baseUrl);
  const stage = pathname.slice(1);
  const query = method === 'GET' ? request.queryValues() : null;
  return {
    httpMethod: method,
    resource: path,
    path,
    multiValueHeaders: {
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
      ...(tokens.length > 0 && { Authorization: tokens }),
    },
    multiValueQueryStringParameters: query && Object.fromEntries(Object.entries(query).map(([name, value]) => [name, [value]])),
    queryStringParameters: query,
    pathParameters: null,
    body: method === 'GET' ? null : JSON.stringify(request.json()),
    isBase64Encoded: false,
    requestContext: { requestId: request.requestId, domainName: host, stage, path: stage === '' ? path : `/${stage}${path}` },
  };
}
