import { type ErrorCode, errorTable } from '../schemas/errors.ts';
import type { Authorizer } from './endpoints/endpoint.ts';
import { localStage } from './settings/kinds.ts';
import type { Settings } from './settings.ts';

export interface GatewayAnswer {
  code: ErrorCode;
  /** default: the status of `code` */
  status?: number;
  message: string;
  retryAfterSeconds?: number;
}

export const noPath: GatewayAnswer = { code: 'NOT_FOUND', message: 'There is nothing at this path. GET /openapi.json lists every path.' };
const fault: GatewayAnswer = {
  code: 'INTERNAL_SERVER_ERROR',
  message:
    'The gate has failed. If the request makes a change or a call, first check whether it was made; then try again. If the problem persists, give details.request_id to the operators.',
};
const unusable: GatewayAnswer = {
  code: 'INVALID_PARAMETER',
  message: 'The gateway cannot read the request. Correct it, then send it again.',
};
const tooMany: GatewayAnswer = {
  code: 'TOO_MANY_REQUESTS',
  message: 'Too many requests. Try again after Retry-After.',
  retryAfterSeconds: 1,
};

/** The gate's errors by API Gateway response type. No method here uses AWS signatures or API keys. */
export const gatewayAnswers: Record<string, GatewayAnswer> = {
  ACCESS_DENIED: { code: 'FORBIDDEN', message: 'The API refuses this caller. Ask the operators of this gate.' },
  API_CONFIGURATION_ERROR: fault,
  AUTHORIZER_CONFIGURATION_ERROR: fault,
  AUTHORIZER_FAILURE: fault,
  BAD_REQUEST_BODY: unusable,
  BAD_REQUEST_PARAMETERS: unusable,
  DEFAULT_4XX: unusable,
  DEFAULT_5XX: fault,
  EXPIRED_TOKEN: noPath,
  INTEGRATION_FAILURE: {
    code: 'SERVICE_UNAVAILABLE',
    message: 'The gate is overloaded. Try again after Retry-After.',
    retryAfterSeconds: 1,
  },
  INTEGRATION_TIMEOUT: {
    code: 'GATEWAY_TIMEOUT',
    message: 'The gate did not answer in time. If the request makes a change or a call, first check whether it was made; then try again.',
  },
  INVALID_API_KEY: { code: 'FORBIDDEN', message: 'The API refuses this caller. Ask the operators of this gate.' },
  INVALID_SIGNATURE: noPath,
  MISSING_AUTHENTICATION_TOKEN: noPath,
  QUOTA_EXCEEDED: tooMany,
  REQUEST_TOO_LARGE: { code: 'INVALID_PARAMETER', status: 413, message: 'The body is larger than 262144 bytes. Send less.' },
  RESOURCE_NOT_FOUND: noPath,
  THROTTLED: tooMany,
  UNAUTHORIZED: { code: 'UNAUTHORIZED', message: 'Send the header Authorization: Bearer <token>.' },
  UNSUPPORTED_MEDIA_TYPE: {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'Send the body as JSON in UTF-8, with the header Content-Type: application/json.',
  },
  WAF_FILTERED: { ...tooMany, message: 'Too many requests from this address. Try again after Retry-After.', retryAfterSeconds: 300 },
};

/** The mapping template of an error body; API Gateway fills in the request id. */
export const bodyTemplate = ({ code, message }: GatewayAnswer, { protocol }: Settings): string =>
  JSON.stringify({
    error: {
      code,
      message,
      details: { reference: `${protocol.toUpperCase()}-${errorTable[code].reference}`, request_id: '$context.requestId' },
    },
  });

/** The headers of an error, as mapping expressions. Errors do not depend on the caller, so all origins may read them if any may call the API. */
export const headerExpressions = (
  { corsOrigins, stage }: Settings,
  { retryAfterSeconds }: Partial<GatewayAnswer> = {},
): Record<string, string> => ({
  'X-Request-Id': 'context.requestId',
  'Cache-Control': "'no-store'",
  'X-Content-Type-Options': "'nosniff'",
  // the local stack is called over http
  ...(stage !== localStage && { 'Strict-Transport-Security': "'max-age=31536000'" }),
  ...(retryAfterSeconds !== undefined && { 'Retry-After': `'${retryAfterSeconds}'` }),
  ...(corsOrigins.length > 0 && { 'Access-Control-Allow-Origin': "'*'", 'Access-Control-Expose-Headers': "'*'" }),
});

/** For the local stack, whose port is not known in advance. Deployments whose constant responses contain the address set `publicBaseUrl`. */
export const localBaseUrl = 'http://$context.domainName';

/**
 * A gateway response. The default 4xx response keeps API Gateway's status.
 * @param authorizer - what refuses requests that have no token
 */
export function gatewayResponse(type: string, answer: GatewayAnswer, settings: Settings, authorizer?: Authorizer) {
  const refused = type === 'UNAUTHORIZED' ? authorizer : undefined;
  const challenge = refused?.challengeOf(settings.publicBaseUrl ?? localBaseUrl) ?? 'Bearer realm="intent-gate"';
  const headers = {
    ...headerExpressions(settings, answer),
    ...(answer.code === 'UNAUTHORIZED' && { 'WWW-Authenticate': `'${challenge}'` }),
  };
  return {
    ...(type !== 'DEFAULT_4XX' && { statusCode: String(answer.status ?? errorTable[answer.code].status) }),
    responseParameters: Object.fromEntries(Object.entries(headers).map(([name, value]) => [`gatewayresponse.header.${name}`, value])),
    responseTemplates: {
      'application/json': refused ? JSON.stringify(refused.refusalOf('$context.requestId')) : bodyTemplate(answer, settings),
    },
  };
}
