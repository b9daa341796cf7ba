import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda';
import { ApiError } from '../api-error.ts';
import { readEnvironment, splitList } from '../environment.ts';
import { describeCause, log } from '../log.ts';
import { corsHeaders } from './cors.ts';
import { type ApiRequest, calledBaseUrl, readRequest } from './request.ts';
import { type ApiResponse, describeError, serialize } from './response.ts';

/** What an endpoint does: takes a request, returns a response, throws {@link ApiError} for a refusal. */
export type Action = (request: ApiRequest) => Promise<ApiResponse>;

export type LambdaHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>;

export interface ServeSettings {
  /** what stands for `proto` in error references */
  protocol: string;
  baseUrl?: string;
  /** origins whose pages may read answers, separated by commas */
  allowedOrigins?: string;
}

/** Makes a Lambda handler of an endpoint's action: the chain that every endpoint shares. */
export function serve(
  action: Action,
  settings: ServeSettings = readEnvironment(['protocol'], ['baseUrl', 'allowedOrigins']),
): LambdaHandler {
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error>()
    .use(accessLog())
    .use(corsHeaders(splitList(settings.allowedOrigins)))
    .use(conditionalGet())
    .use(errorResponse(settings))
    .handler(async (event, context) => {
      const request = readRequest(event, context, settings.baseUrl);
      return serialize(await action(request), request.requestId);
    });
}

type Middleware = middy.MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult, Error>;
type Chain = Parameters<NonNullable<Middleware['before']>>[0];

/** Used last, so that its `onError` runs first and the others see a response. */
const errorResponse = (settings: ServeSettings): Middleware => ({
  onError: (chain) => {
    const { requestId } = chain.event.requestContext;
    const baseUrl = settings.baseUrl ?? calledBaseUrl(chain.event);
    chain.response = serialize(describeError(chain.error, { protocol: settings.protocol, requestId, baseUrl }), requestId);
  },
});

/** Answers 304 where the caller already holds what would be sent (RFC 9110 section 13.1.2, weak comparison). */
const conditionalGet = (): Middleware => ({
  after: ({ event, response }) => {
    const etag = response?.headers?.ETag;
    const held = Object.entries(event.multiValueHeaders ?? {}).find(([name]) => name.toLowerCase() === 'if-none-match')?.[1];
    if (!response || event.httpMethod !== 'GET' || !etag || !held) return;
    const candidates = held
      .join(',')
      .split(',')
      .map((candidate) => candidate.trim().replace(/^W\//, ''));
    if (!candidates.includes('*') && !candidates.includes(String(etag))) return;
    response.statusCode = 304;
    response.body = '';
    delete response.headers?.['Content-Type'];
  },
});

/** One line a request: what was asked by name, how it ended, how long it took. */
const accessLog = (): Middleware => {
  const startedMs = new WeakMap<APIGatewayProxyEvent, number>();
  const write = ({ event, response, error }: Chain) => {
    const entry = {
      request_id: event.requestContext.requestId,
      endpoint: `${event.httpMethod} ${event.resource}`,
      status: response?.statusCode,
      duration_ms: Date.now() - (startedMs.get(event) ?? Date.now()),
      ...(error instanceof ApiError && { code: error.code }),
    };
    const cause = error instanceof ApiError ? error.cause : error;
    if ((response?.statusCode ?? 500) < 500) log.info('answered', entry);
    else log.error('answered', { ...entry, ...(cause !== undefined && cause !== null && { cause: describeCause(cause) }) });
  };
  return {
    before: ({ event }) => {
      startedMs.set(event, Date.now());
    },
    after: write,
    onError: write,
  };
};
