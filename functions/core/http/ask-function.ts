import * as z from 'zod';
import { errorBody } from '../../../schemas/errors.ts';
import { ApiError, unavailable } from '../api-error.ts';
import { openSignedRequests } from '../signed-request.ts';
import type { ApiRequest } from './request.ts';
import type { ApiResponse } from './response.ts';
import type { Action } from './serve.ts';

export interface Asked {
  /** of the endpoint, which takes no body if it is asked with GET, and else a JSON body */
  path: string;
  /** longest that the function may take, in milliseconds */
  timeoutMs: number;
}

/** Headers of a refusal that say what the caller has to do. */
const passedOn = ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate'];

/** What a function of this gate answers. */
const proxyResult = z.object({ statusCode: z.number(), headers: z.record(z.string(), z.string()), body: z.string() });

/**
 * Makes an action that passes the request on to another function of this gate, which has what this one lacks: code or permissions. That function logs
 * the same request id, by which the access log tells who asked. It is invoked once and never again after a failure, because the first attempt may have
 * used up a signed document. The requests are signed here, since Lambda's own client would make small functions a fifth larger.
 * @returns an action that throws the endpoint's own refusal, or ApiError SERVICE_UNAVAILABLE if it does not answer
 */
export function askFunction(name: string, { path, timeoutMs }: Asked): Action {
  const url = new URL(`${lambdaEndpoint()}/2015-03-31/functions/${name}/invocations`);
  const send = openSignedRequests(timeoutMs, { service: 'lambda', region });

  async function invoke(event: object): Promise<unknown> {
    const sent = { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: JSON.stringify(event) };
    const { status, headers, body } = await send(sent);
    if (status !== 200) throw new Error(`Lambda answered ${status}`);
    if (headers['x-amz-function-error'] !== undefined) throw new Error(`${path} failed`);
    return JSON.parse(body);
  }

  return async (request): Promise<ApiResponse> => {
    const answer = await invoke(eventOf(request, path)).catch((error) => {
      throw unavailable('Another part of the gate cannot be reached. Try again after Retry-After.', error);
    });
    const { statusCode, headers, body } = proxyResult.parse(answer);
    const content: unknown = JSON.parse(body);
    if (statusCode < 300) return { status: statusCode, body: content };
    const { code, message, details } = errorBody.parse(content).error;
    const kept = passedOn.flatMap((header) => (headers[header] === undefined ? [] : [[header, headers[header]]]));
    throw new ApiError(code, message, { status: statusCode, headers: Object.fromEntries(kept), ...(details && { details }) });
  };
}

const region = process.env.AWS_REGION ?? '';

/** Where Lambda is, as the SDK finds it. */
const lambdaEndpoint = (): string =>
  process.env.AWS_ENDPOINT_URL_LAMBDA ??
  process.env.AWS_ENDPOINT_URL ??
  `https://lambda.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

/** What API Gateway would have sent for this request to `path`, as far as endpoints look at it. */
function eventOf(request: ApiRequest, path: string): object {
  const proof = request.header('dpop');
  const { host, pathname } = new URL(request.baseUrl);
  const stage = pathname.slice(1);
  const isReading = request.method === 'GET';
  const query = isReading ? request.queryValues() : null;
  return {
    httpMethod: request.method,
    resource: path,
    path,
    multiValueHeaders: { 'Content-Type': ['application/json'], ...(proof !== undefined && { DPoP: [proof] }) },
    multiValueQueryStringParameters: query && Object.fromEntries(Object.entries(query).map(([name, value]) => [name, [value]])),
    queryStringParameters: query,
    pathParameters: null,
    body: isReading ? null : JSON.stringify(request.json()),
    isBase64Encoded: false,
    requestContext: { requestId: request.requestId, domainName: host, stage, path: stage === '' ? path : `/${stage}${path}` },
  };
}
