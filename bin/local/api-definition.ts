import * as z from 'zod';
import { resourcesOf, type Template } from './template.ts';

export type StaticAnswer = ReturnType<typeof toAnswer>;

export type Integration = (
  | { kind: 'lambda'; functionId: string }
  /** @property mediaTypes - accepted media types; other bodies get 415 */
  | { kind: 'mock'; answer: StaticAnswer; mediaTypes: string[] }
) & {
  /** the identity source of the authorizer, which is not run: it lets every request pass that has this header */
  identityHeader?: string | undefined;
};

export interface Resource {
  path: string;
  pattern: RegExp;
  /** by method; `ANY` for all others */
  methods: Map<string, Integration>;
}

export type ApiDefinition = ReturnType<typeof readApi>;

const headers = z.record(z.string(), z.string()).default({});

const answerProperties = z.object({
  statusCode: z.coerce.number().optional(),
  responseParameters: headers,
  responseTemplates: headers,
});

const integrationProperties = z.discriminatedUnion('type', [
  z.object({ type: z.literal('aws_proxy'), uri: z.unknown() }),
  z.object({
    type: z.literal('mock'),
    requestTemplates: z.record(z.string(), z.string()),
    responses: z.object({ default: answerProperties }),
  }),
]);

function toIntegration(integration: z.output<typeof integrationProperties>): Integration {
  if (integration.type === 'aws_proxy') return { kind: 'lambda', functionId: functionBehind(integration.uri) };
  const mediaTypes = Object.keys(integration.requestTemplates);
  return { kind: 'mock', answer: toAnswer(integration.responses.default), mediaTypes };
}

const operation = z
  .object({
    security: z.array(z.record(z.string(), z.unknown())).default([]),
    'x-amazon-apigateway-integration': integrationProperties,
  })
  .transform(({ security: [security = {}], 'x-amazon-apigateway-integration': integration }) => {
    const [scheme] = Object.keys(security);
    return { scheme, integration: toIntegration(integration) };
  });

const apiProperties = z.object({
  Body: z.object({
    paths: z.record(z.string(), z.record(z.string(), operation)),
    components: z.object({ securitySchemes: z.record(z.string(), z.object({ name: z.string().toLowerCase() })) }).optional(),
    'x-amazon-apigateway-gateway-responses': z.record(z.string(), answerProperties),
    'x-amazon-apigateway-binary-media-types': z.tuple([z.literal('*/*')]).optional(),
  }),
  MinimumCompressionSize: z.number().optional(),
});

/** Reads the REST API of a template: its paths, their functions and required headers, and the gateway responses. */
export function readApi(template: Template) {
  const [[, api] = []] = resourcesOf(template, 'AWS::ApiGateway::RestApi', apiProperties);
  if (!api) throw new TypeError('the template has no REST API');
  const schemes = api.Body.components?.securitySchemes ?? {};
  const nameOf = (method: string) => (method === 'x-amazon-apigateway-any-method' ? 'ANY' : method.toUpperCase());
  const resources = Object.entries(api.Body.paths).map(
    ([path, methods]): Resource => ({
      path,
      pattern: patternOf(path),
      methods: new Map(
        Object.entries(methods).map(([method, { scheme = '', integration }]) => [
          nameOf(method),
          { ...integration, identityHeader: schemes[scheme]?.name },
        ]),
      ),
    }),
  );
  const answers = Object.entries(api.Body['x-amazon-apigateway-gateway-responses']);
  return {
    /** whether functions get bodies in base64, because binary media types are declared */
    isBinary: api.Body['x-amazon-apigateway-binary-media-types'] !== undefined,
    /** minimum size of compressed responses; undefined if none are compressed */
    minimumCompressionBytes: api.MinimumCompressionSize,
    /** static segments sort before variables, because a brace comes after letters */
    resources: resources.sort((one, other) => (one.path < other.path ? -1 : 1)),
    gatewayAnswers: new Map(answers.map(([type, answer]) => [type, toAnswer(answer)])),
  };
}

/** The logical id of the function in an integration's URI. */
function functionBehind(uri: unknown): string {
  const id = /"Fn::GetAtt":\["(\w+)","Arn"\]/.exec(JSON.stringify(uri))?.[1];
  if (id === undefined) throw new TypeError('an integration of the template is not a function');
  return id;
}

/** A gateway response. Header values are mapping expressions: a quoted literal, or a context variable. */
function toAnswer({ statusCode, responseParameters, responseTemplates }: z.output<typeof answerProperties>) {
  const headers = Object.entries(responseParameters).map(([name, expression]) => [name.replace(/^.*?\.header\./, ''), expression] as const);
  return { status: statusCode, headers: Object.fromEntries(headers), body: responseTemplates['application/json'] ?? '' };
}

export interface Match<T extends Pick<Resource, 'path'> = Resource> {
  resource: T;
  /** not percent-decoded, as in API Gateway */
  pathParameters: Record<string, string>;
}

/** A pattern with the path's variables as groups. As in API Gateway, a slash at the end makes no difference. */
export function patternOf(path: string): RegExp {
  const source = path.replace(/\{(\w+)(\+?)\}|\W/g, (literal, name, rest) => {
    if (!name) return `\\${literal}`;
    return rest ? '.*' : `(?<${name}>[^/]+)`;
  });
  return new RegExp(path === '/' ? '^/$' : `^${source}/?$`);
}

/** As in API Gateway, a static segment wins over a variable, and both over `{proxy+}`, which matches the rest. */
export function findResource(resources: readonly Resource[], path: string): Match | undefined {
  for (const resource of resources) {
    const match = resource.pattern.exec(path);
    if (match) return { resource, pathParameters: { ...match.groups } };
  }
  return undefined;
}
