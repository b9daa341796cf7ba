import { errorTable } from '../schemas/errors.ts';
import type { Endpoint, Route } from './endpoints.ts';
import {
  bodyTemplate,
  type GatewayAnswer,
  gatewayAnswers,
  gatewayResponse,
  headerExpressions,
  localBaseUrl,
  noPath,
} from './error-answers.ts';
import { localStage } from './settings/kinds.ts';
import type { Settings } from './settings.ts';

/** Media types that mock methods accept, besides that of the protocol; API Gateway answers any other with 415. */
const mediaTypes = [
  'application/json',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/ld+json',
  'application/vnd.api+json',
  'application/xml',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/octet-stream',
  'multipart/form-data',
];

/** The request header fields that pages may send (CORS). */
const preflightHeadersOf = (routes: readonly Route[]): string[] => [
  ...new Set([
    ...['Authorization', 'Content-Type', 'If-None-Match'],
    ...routes.flatMap(({ requestHeaders = [], browserHeaders = [] }) => [...requestHeaders, ...browserHeaders]),
  ]),
];

interface Method {
  responses: Record<string, { description: string; headers?: Record<string, { schema: { type: 'string' } }> }>;
  'x-amazon-apigateway-integration': Record<string, unknown>;
  security?: Record<string, never[]>[];
}

interface Invocation {
  uri: string;
  /** ARN of the role that API Gateway assumes to invoke the function */
  credentials: string;
}

/**
 * The REST API in API Gateway's import format, OpenAPI 3.0 with extensions: the endpoints' paths and methods, and the gateway responses in the
 * gate's error format.
 * @param invocationOf - how to invoke the function of the named endpoint
 * @param title - also the API's name
 */
export function defineApi(routes: readonly Route[], invocationOf: (name: string) => Invocation, settings: Settings, title: string) {
  const { stage, corsOrigins, domain, protocol, publicBaseUrl } = settings;
  // API Gateway has one response to requests without a token
  const guard = routes.find(({ authorizer }) => authorizer)?.authorizer;
  const say = (status: number, body: string, more: Record<string, string> = {}): Method =>
    mock(status, { ...headerExpressions(settings), ...more }, { accepts: [...mediaTypes, `application/${protocol}+json`], body });
  const refuse = (answer: GatewayAnswer, more?: Record<string, string>): Method =>
    say(errorTable[answer.code].status, bodyTemplate(answer, settings), more);
  const baseUrl = publicBaseUrl ?? (stage === localStage ? '' : `/${stage}`);
  const answerTo = (verb: string, { name, path, mainPath, constant, redirects, authorizer }: Route): Method => {
    if (redirects)
      return say(302, redirectTemplate(baseUrl + redirects.browsers), { Location: `'${baseUrl}${redirects.programs}'`, Vary: "'Accept'" });
    if (constant === undefined) return { ...invoke(invocationOf(name)), ...(authorizer && { security: [{ [tokenScheme]: [] }] }) };
    if (path !== mainPath) return say(308, '', { Location: `'${baseUrl}${mainPath}'` });
    return say(200, verb === 'HEAD' ? '' : constantTemplate(constant(publicBaseUrl ?? localBaseUrl)));
  };
  const preflightHeaders = preflightHeadersOf(routes);
  const paths: Record<string, Record<string, Method>> = {};
  for (const [path, group] of Map.groupBy(routes, ({ path }) => path)) {
    const methods = group.flatMap((route) => answeredTo(route.method).map((verb) => [verb.toLowerCase(), answerTo(verb, route)]));
    const allowed = group.flatMap(({ method }) => answeredTo(method));
    // RFC 9110 section 15.5.6
    const otherMethod = refuse(
      { code: 'METHOD_NOT_ALLOWED', message: `This path does not have that method. It has: ${allowed.join(', ')}.` },
      { Allow: `'${allowed.join(', ')}'` },
    );
    const [[, first] = []] = methods;
    paths[path] = {
      ...Object.fromEntries(methods),
      [anyMethod]: otherMethod,
      // every method needs a token, except for preflights, which have none (Fetch standard)
      ...(group.some(({ authorizer }) => authorizer) && { options: otherMethod, [anyMethod]: first }),
      ...(corsOrigins.length > 0 && { options: preflight(corsOrigins, allowed, preflightHeaders) }),
    };
  }
  // API Gateway would read a bearer token as a malformed AWS signature on a path without methods.
  for (const path of ['/', ...Object.keys(paths).flatMap(parentsOf), '/{proxy+}']) paths[path] ??= { [anyMethod]: refuse(noPath) };
  return {
    openapi: '3.0.1',
    info: { title, description: 'Lets agents find, get permission for, and call third-party API operations (intents)', version: '1' },
    // As a property of the API beside its definition it might not count.
    ...(domain && {
      servers: [{ url: `https://${domain.name}`, 'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true } }],
    }),
    paths,
    ...(guard && {
      components: { securitySchemes: { [tokenScheme]: requireToken(invocationOf(guard.name)) } },
    }),
    // Receipt log tiles are binary whatever the client's Accept header says. Functions decode requests and mark binary responses.
    'x-amazon-apigateway-binary-media-types': [allTypes],
    'x-amazon-apigateway-gateway-responses': Object.fromEntries(
      Object.entries(gatewayAnswers).map(([type, answer]) => [type, gatewayResponse(type, answer, settings, guard)]),
    ),
  };
}

const tokenScheme = 'token';

/** How long API Gateway may reuse a result of the authorizer, in seconds: the longest that it allows, because the result is always the same. */
const authorizerSeconds = 3_600;

/**
 * Makes API Gateway refuse requests without `Authorization` itself, with a `WWW-Authenticate` that it does not rename as it does those of functions.
 * It does so without invoking the authorizer, but only if results are cached.
 */
const requireToken = ({ uri, credentials }: Invocation) => ({
  type: 'apiKey',
  name: 'Authorization',
  in: 'header',
  'x-amazon-apigateway-authtype': 'custom',
  'x-amazon-apigateway-authorizer': {
    type: 'request',
    identitySource: 'method.request.header.Authorization',
    authorizerUri: uri,
    authorizerCredentials: credentials,
    authorizerResultTtlInSeconds: authorizerSeconds,
  },
});

const allTypes = '*/*';

const anyMethod = 'x-amazon-apigateway-any-method';

/** Every GET method also serves HEAD (RFC 9110 section 9.3.2). */
export const answeredTo = (method: Endpoint['method']): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

/** `/a/b/c` has the parents `/a` and `/a/b`. */
const parentsOf = (path: string): string[] => {
  const segments = path.split('/').slice(1, -1);
  return segments.map((_, at) => `/${segments.slice(0, at + 1).join('/')}`);
};

const constantTemplate = (body: object): string => JSON.stringify(body).replaceAll('#', '\\u0023');

/** Replaces the response's Location for clients that accept HTML. API Gateway keeps the client's spelling of header names. */
const redirectTemplate = (address: string): string => {
  const accepts = ['accept', 'Accept'].map((name) => `$input.params().header.get("${name}").contains("text/html")`).join(' || ');
  return `#if(${accepts})#set($context.responseOverride.header.Location = "${address}")#end`;
};

const invoke = (invocation: Invocation): Method => ({
  responses: {},
  'x-amazon-apigateway-integration': { type: 'aws_proxy', httpMethod: 'POST', ...invocation },
});

/**
 * A method that API Gateway answers itself.
 * @param headers - mapping expressions
 * @param accepts - accepted media types of requests; any other gets 415
 * @param body - mapping template
 */
function mock(status: number, headers: Record<string, string>, { accepts, body }: { accepts: string[]; body: string }): Method {
  const names = Object.keys(headers);
  return {
    responses: {
      [status]: {
        description: 'A fixed answer',
        headers: Object.fromEntries(names.map((name) => [name, { schema: { type: 'string' } }])),
      },
    },
    'x-amazon-apigateway-integration': {
      type: 'mock',
      // All media types are declared binary, so the template would get bytes.
      contentHandling: 'CONVERT_TO_TEXT',
      passthroughBehavior: 'never',
      requestTemplates: Object.fromEntries(accepts.map((mediaType) => [mediaType, `{"statusCode": ${status}}`])),
      responses: {
        default: {
          statusCode: String(status),
          responseParameters: Object.fromEntries(names.map((name) => [`method.response.header.${name}`, headers[name]])),
          responseTemplates: { 'application/json': body },
        },
      },
    },
  };
}

/** A CORS preflight. Its response names the first allowed origin; the template replaces that with the caller's if allowed. */
function preflight(origins: readonly string[], allowed: readonly string[], headerNames: readonly string[]): Method {
  const isAllowed = origins.map((origin) => `$origin == "${origin}"`).join(' || ');
  const headers = {
    'Access-Control-Allow-Origin': `'${origins[0]}'`,
    'Access-Control-Allow-Methods': `'${allowed.join(',')}'`,
    'Access-Control-Allow-Headers': `'${headerNames.join(',')}'`,
    'Access-Control-Max-Age': "'3600'",
    ...(!origins.includes('*') && { Vary: "'Origin'" }),
  };
  const template = [
    '#set($origin = $input.params().header.get("Origin"))',
    '#if($origin == "")#set($origin = $input.params().header.get("origin"))#end',
    `#if(${isAllowed})#set($context.responseOverride.header.Access-Control-Allow-Origin = $origin)#end`,
  ];
  return mock(204, headers, { accepts: ['application/json'], body: origins.length > 1 ? template.join('\n') : '' });
}
