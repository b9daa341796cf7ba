import { errorTable } from '../schemas/errors.ts';
import type { Endpoint } from './endpoints.ts';
import { bodyTemplate, type GatewayAnswer, gatewayAnswers, gatewayResponse, headerExpressions, noPath } from './error-answers.ts';
import type { Settings } from './settings.ts';

/** Media types for which mock methods have a template: the gateway answers 415 to any other body. */
const mediaTypes = [
  'application/json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/octet-stream',
  'multipart/form-data',
];

/** Headers that pages of other origins may send; the last three are for MCP hosts. */
const preflightHeaders = [
  ...['Authorization', 'Content-Type', 'DPoP', 'Idempotency-Key', 'If-Match', 'If-None-Match', 'traceparent', 'tracestate'],
  ...['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'],
];

interface Method {
  responses: Record<string, { description: string; headers?: Record<string, { schema: { type: 'string' } }> }>;
  'x-amazon-apigateway-integration': Record<string, unknown>;
}

export interface Route extends Endpoint {
  mainPath: string;
}

interface Invocation {
  uri: string;
  /** ARN of the role with which API Gateway runs the function */
  credentials: string;
}

/**
 * The REST API as API Gateway imports it: OpenAPI 3.0 with API Gateway's extensions. It has the paths and methods of the endpoints, and the
 * gateway's own answers, each an error in the gate's form.
 * @param invocationOf - how to run the function of the endpoint with this name
 */
export function defineApi(routes: readonly Route[], invocationOf: (name: string) => Invocation, settings: Settings) {
  const { stage, protocol, corsOrigins, publicBaseUrl } = settings;
  const isOpenToPages = corsOrigins.length > 0;
  const isSecure = stage !== 'local';
  const say = (status: number, body: string, more: Record<string, string> = {}): Method =>
    mock(status, { ...headerExpressions({}, isOpenToPages, isSecure), ...more }, { accepts: mediaTypes, body });
  const refuse = (answer: GatewayAnswer, more?: Record<string, string>): Method =>
    say(errorTable[answer.code].status, bodyTemplate(answer, protocol), more);
  const answerTo = (verb: string, { name, path, mainPath, constant }: Route): Method => {
    if (constant === undefined) return invoke(invocationOf(name));
    if (path !== mainPath) return say(308, '', { Location: `'${publicBaseUrl ?? ''}${mainPath}'` });
    return say(200, verb === 'HEAD' ? '' : constantTemplate(constant(publicBaseUrl ?? localBaseUrl)));
  };
  const paths: Record<string, Record<string, Method>> = {};
  for (const [path, group] of Map.groupBy(routes, ({ path }) => path)) {
    const methods = group.flatMap((route) => answeredTo(route.method).map((verb) => [verb.toLowerCase(), answerTo(verb, route)]));
    const allowed = group.flatMap(({ method }) => answeredTo(method));
    paths[path] = {
      ...Object.fromEntries(methods),
      ...(isOpenToPages && { options: preflight(corsOrigins, allowed) }),
      // RFC 9110 section 15.5.6
      [anyMethod]: refuse(
        { code: 'METHOD_NOT_ALLOWED', message: `This path does not have that method. It has: ${allowed.join(', ')}.` },
        { Allow: `'${allowed.join(', ')}'` },
      ),
    };
  }
  // Without a method of its own, a path would take a bearer token for a bad AWS signature.
  for (const path of ['/', ...Object.keys(paths).flatMap(parentsOf), '/{proxy+}']) paths[path] ??= { [anyMethod]: refuse(noPath) };
  return {
    openapi: '3.0.1',
    info: { title: `Intent Gate (${stage})`, description: 'Lets agents find, get authorised for, and run intents', version: '1' },
    paths,
    // Tiles of the log of receipts are bytes, whatever a client accepts. Functions decode requests, and say which answers are bytes.
    'x-amazon-apigateway-binary-media-types': [allTypes],
    'x-amazon-apigateway-gateway-responses': Object.fromEntries(
      Object.entries(gatewayAnswers).map(([type, answer]) => [type, gatewayResponse(type, answer, protocol, isOpenToPages, isSecure)]),
    ),
  };
}

const allTypes = '*/*';

const anyMethod = 'x-amazon-apigateway-any-method';

/** HEAD is answered wherever GET is (RFC 9110 section 9.3.2). */
const answeredTo = (method: Endpoint['method']): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

/** `/a` and `/a/b` of `/a/b/c`. */
const parentsOf = (path: string): string[] => {
  const segments = path.split('/').slice(1, -1);
  return segments.map((_, at) => `/${segments.slice(0, at + 1).join('/')}`);
};

/** A local stack does not know its port in advance. Deployments with constants that depend on the address have `publicBaseUrl`. */
const localBaseUrl = 'http://$context.domainName';

const constantTemplate = (body: object): string => JSON.stringify(body).replaceAll('#', '\\u0023');

const invoke = (invocation: Invocation): Method => ({
  responses: {},
  'x-amazon-apigateway-integration': { type: 'aws_proxy', httpMethod: 'POST', ...invocation },
});

/**
 * A method that the gateway answers itself.
 * @param headers - mapping expressions
 * @param accepts - media types of requests; any other is answered 415
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
      // With all media types taken for binary, the template would get bytes.
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

/** The response to a CORS preflight names one origin; the template replaces it by another allowed one. */
function preflight(origins: readonly string[], allowed: readonly string[]): Method {
  const isAllowed = origins.map((origin) => `$origin == "${origin}"`).join(' || ');
  const headers = {
    'Access-Control-Allow-Origin': `'${origins[0]}'`,
    'Access-Control-Allow-Methods': `'${allowed.join(',')}'`,
    'Access-Control-Allow-Headers': `'${preflightHeaders.join(',')}'`,
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
