import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda';
import { unavailable } from '../runtime/api-error.ts';
import { readEnvironment, splitList } from '../runtime/environment.ts';
import { withinInvocation } from '../runtime/invocation.ts';
import { log } from '../runtime/log.ts';
import { readTrace, withinTrace } from '../runtime/trace.ts';
import { causeOf, logAnswer } from './log-answer.ts';
import { type ApiRequest, headerValues, publicUrl, readRequest } from './request.ts';
import { type ApiResponse, describeError, serialize } from './response.ts';

/** The behaviour of an endpoint; throws an ApiError to refuse a request. */
export type Action = (request: ApiRequest) => Promise<ApiResponse>;

export type LambdaHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>;

export interface ServeSettings {
  /** prefix of error references */
  protocol: string;
  baseUrl?: string;
  /** origins whose pages may read responses (CORS), separated by commas */
  allowedOrigins?: string;
}

/** Time reserved for the response to an invocation that times out, in milliseconds. */
const answeringMs = 500;

/** When an invocation is running out of time, middy aborts the handler's signal and throws this. */
const endInTime = {
  timeoutEarlyInMillis: answeringMs,
  timeoutEarlyResponse: () => {
    throw unavailable(
      'The gate ran out of time before it could answer. Try again after Retry-After; if the request makes a change, first check whether it was made.',
    );
  },
};

/**
 * Makes a Lambda handler from an action, with the middlewares of every endpoint. None is middy's own, because those answer errors as text.
 */
export function serve(
  action: Action,
  settings: ServeSettings = readEnvironment(['protocol'], ['baseUrl', 'allowedOrigins']),
): LambdaHandler {
  const handle = middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Internal>(endInTime)
    .use(accessLog())
    .use(onEveryResponse(corsHeaders(splitList(settings.allowedOrigins))))
    .use(onEveryResponse(dropContentOfHead))
    .use(conditionalGet())
    .use(onEveryResponse(strictTransport(settings)))
    .use(errorResponse(settings))
    .handler((event, context, { signal }) =>
      withinInvocation(signal, async () => {
        const request = readRequest(event, context, settings);
        return serialize(await action(request), request.requestId);
      }),
    );
  const joined = (event: APIGatewayProxyEvent, name: string) => headerValues(event, name).join(',');
  return (event, context) =>
    withinTrace(readTrace(joined(event, 'traceparent'), joined(event, 'tracestate')), () => handle(event, context));
}

/** Makes a Lambda handler for background work. A failed run is a function error, which alarms cover. */
export function serveSchedule(
  run: (event: unknown, remainingMs: () => number) => Promise<void>,
): (event: unknown, context: Context) => Promise<void> {
  return middy<unknown, void, Error, Context, Internal>(endInTime)
    .use(runLog())
    .handler((event, context, { signal }) => withinInvocation(signal, () => run(event, () => context.getRemainingTimeInMillis())));
}

interface Internal extends Record<string, unknown> {
  /** milliseconds since the epoch */
  startedMs?: number;
}

type Middleware = middy.MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Internal>;
type Chain = Parameters<NonNullable<Middleware['before']>>[0];

const durationMs = ({ startedMs = Date.now() }: Internal): number => Date.now() - startedMs;

/** Used last, so that its `onError` runs first and the others see a response. */
const errorResponse = (settings: ServeSettings): Middleware => ({
  onError: (chain) => {
    const { requestId } = chain.event.requestContext;
    const baseUrl = publicUrl(chain.event, settings.baseUrl);
    chain.response = serialize(describeError(chain.error, { protocol: settings.protocol, requestId, baseUrl }), requestId);
  },
});

const onEveryResponse = (change: ChangeResponse): Middleware => {
  const apply = ({ event, response }: Chain) => {
    if (response) change(response, event);
  };
  return { after: apply, onError: apply };
};

/** Makes browsers use https for a year (RFC 6797). Not sent over http, which only the local stack uses. */
const strictTransport =
  ({ baseUrl = 'https:' }: ServeSettings): ChangeResponse =>
  (response) => {
    if (baseUrl.startsWith('https:')) response.headers = { ...response.headers, 'Strict-Transport-Security': 'max-age=31536000' };
  };

/** HEAD is answered as GET, without the content (RFC 9110 section 9.3.2). */
const dropContentOfHead: ChangeResponse = (response, { httpMethod }) => {
  if (httpMethod === 'HEAD') response.body = '';
};

/** Headers of a 304 (RFC 9110 section 15.4.5), and others that do not depend on the content. */
const notModifiedHeader =
  /^(cache-control|content-location|date|etag|expires|vary|x-request-id|x-content-type-options|strict-transport-security)$/i;

/** Answers 304 if the caller has the current content (RFC 9110 section 13.1.2, weak comparison). */
const conditionalGet = (): Middleware => ({
  after: ({ event, response }) => {
    const etag = response?.headers?.ETag;
    const known = headerValues(event, 'if-none-match');
    if (!response || !['GET', 'HEAD'].includes(event.httpMethod) || !etag || known.length === 0) return;
    const candidates = known
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

const accessLog = (): Middleware => {
  const write = ({ event: { requestContext, httpMethod, resource }, response, error, internal }: Chain) => {
    const { requestId: request_id } = requestContext;
    const entry = { request_id, endpoint: `${httpMethod} ${resource}`, status: response?.statusCode, duration_ms: durationMs(internal) };
    logAnswer('answered', entry, error);
  };
  return { before: start, after: write, onError: write };
};

/** Logs one line per run. Errors are passed on to Lambda. */
const runLog = (): middy.MiddlewareObj<unknown, void, Error, Context, Internal> => ({
  before: start,
  after: ({ internal }) => log.info('ran', { duration_ms: durationMs(internal) }),
  onError: ({ error, internal }) => log.error('failed', { duration_ms: durationMs(internal), ...causeOf(error) }),
});

export type ChangeResponse = (response: APIGatewayProxyResult, event: APIGatewayProxyEvent) => void;

/**
 * Lets pages of other origins read responses; the gateway answers their preflight requests. Nothing depends on cookies, so credentials are never
 * allowed.
 * @param origins - exact origins, or `*` for every origin
 */
export const corsHeaders =
  (origins: readonly string[]): ChangeResponse =>
  (response, event) => {
    if (origins.length === 0) return;
    const [origin] = headerValues(event, 'origin');
    const isOpen = origins.includes('*');
    response.headers = { ...response.headers, ...(!isOpen && { Vary: [response.headers?.Vary, 'Origin'].filter(Boolean).join(', ') }) };
    if (!isOpen && (origin === undefined || !origins.includes(origin))) return;
    response.headers['Access-Control-Allow-Origin'] = isOpen ? '*' : (origin ?? '');
    response.headers['Access-Control-Expose-Headers'] = '*';
  };
