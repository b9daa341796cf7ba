import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as z from 'zod';
import { errorBody } from '../../../schemas/errors.ts';
import { ApiError, unavailable } from '../api-error.ts';
import { awsClientSettings } from '../aws-client.ts';
import type { ApiRequest } from '../http/request.ts';
import type { ApiResponse } from '../http/response.ts';
import type { Action } from '../http/serve.ts';

/** Longest that the function may take, in milliseconds. */
const timeoutMs = 12_000;

/** Headers of a refusal that say what the caller has to do. */
const passedOn = ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate'];

/** What a function of this gate answers. */
const proxyResult = z.object({ statusCode: z.number(), headers: z.record(z.string(), z.string()), body: z.string() });

/**
 * Makes an action that asks another function of this gate, for what this one may not do itself: the function that calls other people's
 * services is not the one that may sign. It gets the same request id, so that the access log has the address of whoever asked.
 * @param path - of the endpoint that is asked, which takes a JSON body
 * @returns an action that throws the endpoint's own refusal, or ApiError SERVICE_UNAVAILABLE if it does not answer
 */
export function askFunction(name: string, path: string): Action {
  // Asked once: a signed document may be used up by the first attempt.
  const client = new LambdaClient({ ...awsClientSettings({ requestTimeout: timeoutMs }), maxAttempts: 1 });
  return async (request): Promise<ApiResponse> => {
    const answer = await client.send(new InvokeCommand({ FunctionName: name, Payload: encode(eventOf(request, path)) })).catch((error) => {
      throw unavailable(unreachable, error);
    });
    if (answer.FunctionError !== undefined) throw unavailable(unreachable, new Error(answer.FunctionError));
    const { statusCode, headers, body } = proxyResult.parse(JSON.parse(new TextDecoder().decode(answer.Payload)));
    const content: unknown = JSON.parse(body);
    if (statusCode < 300) return { status: statusCode, body: content };
    const { code, message, details } = errorBody.parse(content).error;
    const kept = passedOn.flatMap((header) => (headers[header] === undefined ? [] : [[header, headers[header]]]));
    throw new ApiError(code, message, { status: statusCode, headers: Object.fromEntries(kept), ...(details && { details }) });
  };
}

const unreachable = 'The endpoint that issues PATs cannot be reached. Try again after Retry-After.';

const encode = (event: object): Uint8Array => new TextEncoder().encode(JSON.stringify(event));

/** What API Gateway would have sent for this request to `path`, as far as endpoints look at it. */
function eventOf(request: ApiRequest, path: string): object {
  const proof = request.header('dpop');
  const { host, pathname } = new URL(request.baseUrl);
  const stage = pathname.slice(1);
  return {
    httpMethod: 'POST',
    resource: path,
    path,
    multiValueHeaders: { 'Content-Type': ['application/json'], ...(proof !== undefined && { DPoP: [proof] }) },
    multiValueQueryStringParameters: null,
    queryStringParameters: null,
    pathParameters: null,
    body: JSON.stringify(request.json()),
    isBase64Encoded: false,
    requestContext: { requestId: request.requestId, domainName: host, stage, path: stage === '' ? path : `/${stage}${path}` },
  };
}
