import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda';
import { ApiError, unavailable } from '../api-error.ts';
import { readEnvironment, splitList } from '../environment.ts';
import { withinInvocation } from '../invocation.ts';
import { describeCause, log } from '../log.ts';
import { corsHeaders } from './cors.ts';
import { type ApiRequest, headerValues, publicUrl, readRequest } from './request.ts';
import { type ApiResponse, describeError, serialize } from './response.ts';

/** What an endpoint does: takes a request, returns a response, throws {@link ApiError} for a refusal. */
export type Action = (request: ApiRequest) => Promise<ApiResponse>;

export type LambdaHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>;

export interface ServeSettings {
  /** what replaces `proto` in error references */
  protocol: string;
  baseUrl?: string;
  /** origins whose pages may read answers, separated by commas */
  allowedOrigins?: string;
}

/** Time reserved at the end of an invocation to answer that its time is over, in milliseconds. */
const answeringMs = 500;

/** How middy ends an invocation whose time is nearly over: the signal that it gives to the handler is aborted, and this is thrown. */
const endInTime = {
  timeoutEarlyInMillis: answeringMs,
  timeoutEarlyResponse: () => {
    throw unavailable(
      'The gate ran out of time before it could answer. Try again after Retry-After; if the request changes something, look first whether it has.',
    );
  },
};

/**
 * Makes a Lambda handler of an endpoint's action: the chain that every endpoint shares.
 * It uses none of middy's own middlewares: they answer errors as text, and do not know this protocol's error form and headers.
 */
export function serve(
  action: Action,
  settings: ServeSettings = readEnvironment(['protocol'], ['baseUrl', 'allowedOrigins']),
): LambdaHandler {
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Internal>(endInTime)
    .use(accessLog())
    .use(corsHeaders(splitList(settings.allowedOrigins)))
    .use(withoutContent())
    .use(conditionalGet())
    .use(strictTransport(settings))
    .use(errorResponse(settings))
    .handler((event, context, { signal }) =>
      withinInvocation(signal, async () => {
        const request = readRequest(event, context, settings);
        return serialize(await action(request), request.requestId);
      }),
    );
}

/** Makes a Lambda handler of work that runs on a schedule. A failed run is an error of the function, which is counted and covered by alarms. */
export function serveSchedule(run: () => Promise<void>): (event: unknown, context: Context) => Promise<void> {
  return middy<unknown, void, Error, Context, Internal>(endInTime)
    .use(runLog())
    .handler((_event, _context, { signal }) => withinInvocation(signal, run));
}

/** What the middlewares of one invocation know about it. */
interface Internal extends Record<string, unknown> {
  /** milliseconds since the epoch */
  startedMs?: number;
}

type Middleware = middy.MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Internal>;
type Chain = Parameters<NonNullable<Middleware['before']>>[0];

const durationMs = ({ startedMs = Date.now() }: Internal): number => Date.now() - startedMs;

/** What may be logged about an error; a refusal says nothing that its code does not. */
const causeOf = (error: unknown): Record<string, unknown> => {
  const cause = error instanceof ApiError ? error.cause : error;
  return cause === undefined || cause === null ? {} : { cause: describeCause(cause) };
};

/** Used last, so that its `onError` runs first and the others see a response. */
const errorResponse = (settings: ServeSettings): Middleware => ({
  onError: (chain) => {
    const { requestId } = chain.event.requestContext;
    const baseUrl = publicUrl(chain.event, settings.baseUrl);
    chain.response = serialize(describeError(chain.error, { protocol: settings.protocol, requestId, baseUrl }), requestId);
  },
});

/** For a year browsers call this host over https only (RFC 6797). Not said over http, which only the local stack speaks. */
const strictTransport = ({ baseUrl = 'https:' }: ServeSettings): Middleware => {
  const add = ({ response }: Chain) => {
    if (response && baseUrl.startsWith('https:'))
      response.headers = { ...response.headers, 'Strict-Transport-Security': 'max-age=31536000' };
  };
  return { after: add, onError: add };
};

/** What a 304 carries (RFC 9110 section 15.4.5), and those headers of every answer that do not depend on the content. */
const notModifiedHeader =
  /^(cache-control|content-location|date|etag|expires|vary|x-request-id|x-content-type-options|strict-transport-security)$/i;

const isReading = ({ httpMethod }: APIGatewayProxyEvent): boolean => httpMethod === 'GET' || httpMethod === 'HEAD';

/** HEAD is answered as GET, without the content (RFC 9110 section 9.3.2). */
const withoutContent = (): Middleware => {
  const empty = ({ event, response }: Chain) => {
    if (response && event.httpMethod === 'HEAD') response.body = '';
  };
  return { after: empty, onError: empty };
};

/** Answers 304 if the caller already has what would be sent (RFC 9110 section 13.1.2, weak comparison). */
const conditionalGet = (): Middleware => ({
  after: ({ event, response }) => {
    const etag = response?.headers?.ETag;
    const held = headerValues(event, 'if-none-match');
    if (!response || !isReading(event) || !etag || held.length === 0) return;
    const candidates = held
      .join(',')
      .split(',')
      .map((candidate) => candidate.trim().replace(/^W\//, ''));
    if (!candidates.includes('*') && !candidates.includes(String(etag))) return;
    response.statusCode = 304;
    response.body = '';
    response.headers = Object.fromEntries(Object.entries(response.headers ?? {}).filter(([name]) => notModifiedHeader.test(name)));
  },
});

const start = ({ internal }: { internal: Internal }): void => {
  internal.startedMs = Date.now();
};

/** One line a request: the name of the endpoint, the outcome, the duration. */
const accessLog = (): Middleware => {
  const write = ({ event, response, error, internal }: Chain) => {
    const entry = {
      request_id: event.requestContext.requestId,
      endpoint: `${event.httpMethod} ${event.resource}`,
      status: response?.statusCode,
      duration_ms: durationMs(internal),
      // an error that nobody foresaw is answered as one of ours
      ...(error !== undefined && error !== null && { code: error instanceof ApiError ? error.code : 'INTERNAL_SERVER_ERROR' }),
    };
    if ((response?.statusCode ?? 500) < 500) log.info('answered', entry);
    else log.error('answered', { ...entry, ...causeOf(error) });
  };
  return { before: start, after: write, onError: write };
};

/** One line a run. The error is passed on to Lambda. */
const runLog = (): middy.MiddlewareObj<unknown, void, Error, Context, Internal> => ({
  before: start,
  after: ({ internal }) => log.info('ran', { duration_ms: durationMs(internal) }),
  onError: ({ error, internal }) => log.error('failed', { duration_ms: durationMs(internal), ...causeOf(error) }),
});
