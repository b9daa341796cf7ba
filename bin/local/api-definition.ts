import * as z from 'zod';
import { resourcesOf, type Template } from './template.ts';

export type StaticAnswer = ReturnType<typeof toAnswer>;

export type Integration =
  | { kind: 'lambda'; functionId: string }
  /** @property mediaTypes - bodies of other types are refused with 415 */
  | { kind: 'mock'; answer: StaticAnswer; mediaTypes: string[] };

export interface Resource {
  /** for example `/api/intents/{intent_uid}` */
  path: string;
  /** by method; `ANY` is for methods that are not named */
  methods: Map<string, Integration>;
}

export type ApiDefinition = ReturnType<typeof readApi>;

const idOf = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform(() => 'root'),
]);

const resourceProperties = z.object({ PathPart: z.string(), ParentId: idOf });

const answerProperties = z.object({
  StatusCode: z.coerce.number().optional(),
  ResponseParameters: z.record(z.string(), z.string()).default({}),
  ResponseTemplates: z.record(z.string(), z.string()).default({}),
});

const gatewayProperties = answerProperties.extend({ ResponseType: z.string() });

const methodProperties = z.object({
  HttpMethod: z.string(),
  ResourceId: idOf,
  Integration: z.discriminatedUnion('Type', [
    z.object({ Type: z.literal('AWS_PROXY'), Uri: z.unknown() }),
    z.object({
      Type: z.literal('MOCK'),
      RequestTemplates: z.record(z.string(), z.string()),
      IntegrationResponses: z.tuple([answerProperties], answerProperties),
    }),
  ]),
});

/** Reads the REST API of a template: its paths, the functions behind their methods, and the answers that the gateway gives itself. */
export function readApi(template: Template) {
  const parts = new Map(resourcesOf(template, 'AWS::ApiGateway::Resource', resourceProperties));
  const pathTo = (id: string): string => {
    const part = parts.get(id);
    return part ? `${pathTo(part.ParentId)}/${part.PathPart}` : '';
  };
  const resources = new Map<string, Resource>();
  for (const [, { HttpMethod, ResourceId, Integration }] of resourcesOf(template, 'AWS::ApiGateway::Method', methodProperties)) {
    const path = pathTo(ResourceId) || '/';
    const resource = resources.get(path) ?? { path, methods: new Map() };
    resources.set(path, resource);
    resource.methods.set(
      HttpMethod,
      Integration.Type === 'AWS_PROXY'
        ? { kind: 'lambda', functionId: functionBehind(Integration.Uri) }
        : { kind: 'mock', answer: toAnswer(Integration.IntegrationResponses[0]), mediaTypes: Object.keys(Integration.RequestTemplates) },
    );
  }
  const gateway = resourcesOf(template, 'AWS::ApiGateway::GatewayResponse', gatewayProperties);
  return {
    /** those with methods, a static segment before a variable: a brace sorts after letters */
    resources: [...resources.values()].sort((one, other) => (one.path < other.path ? -1 : 1)),
    /** by response type, for example `REQUEST_TOO_LARGE` */
    gatewayAnswers: new Map(gateway.map(([, properties]) => [properties.ResponseType, toAnswer(properties)])),
  };
}

/** The one whose ARN is in an integration's address. */
function functionBehind(uri: unknown): string {
  const id = /"Fn::GetAtt":\["(\w+)","Arn"\]/.exec(JSON.stringify(uri))?.[1];
  if (id === undefined) throw new TypeError('an integration of the template is not a function');
  return id;
}

/** An answer that the gateway gives itself. Its headers are mapping expressions: a quoted literal, or a variable of the context. */
function toAnswer({ StatusCode, ResponseParameters, ResponseTemplates }: z.output<typeof answerProperties>) {
  const headers = Object.entries(ResponseParameters).map(([name, expression]) => [name.replace(/^.*?\.header\./, ''), expression] as const);
  return { status: StatusCode, headers: Object.fromEntries(headers), body: ResponseTemplates['application/json'] ?? '' };
}

export interface Match<T extends Pick<Resource, 'path'> = Resource> {
  resource: T;
  /** undecoded, as the gateway hands them on */
  pathParameters: Record<string, string>;
}

const patterns = new Map<string, RegExp>();

/** What matches the paths of a resource; compiled once. */
function patternOf(path: string): RegExp {
  const known = patterns.get(path);
  if (known) return known;
  const source = path.replace(/\{(\w+)(\+?)\}|\W/g, (literal, name, rest) => {
    if (!name) return `\\${literal}`;
    return rest ? '.*' : `(?<${name}>[^/]+)`;
  });
  const pattern = new RegExp(`^${source}$`);
  patterns.set(path, pattern);
  return pattern;
}

/** The resource at a path; a static segment wins over a variable, and both over `{proxy+}`, which takes the rest. */
export function findResource(resources: readonly Resource[], path: string): Match | undefined {
  for (const resource of resources) {
    const match = patternOf(resource.path).exec(path);
    if (match) return { resource, pathParameters: { ...match.groups } };
  }
  return undefined;
}
