import * as z from 'zod';
import { resourcesOf, type Template } from './template.ts';

/** An answer that the gateway gives itself. */
export interface StaticAnswer {
  status: number | undefined;
  /** mapping expressions: a quoted literal, or a variable of the context */
  headers: Record<string, string>;
  body: string;
}

export type Integration =
  | { kind: 'lambda'; functionId: string }
  /** @property mediaTypes - bodies of other types are refused with 415 */
  | { kind: 'mock'; answer: StaticAnswer; mediaTypes: string[] };

/** One segment of the API's paths. */
export interface Resource {
  /** for example `/api/intents/{intent_uid}` */
  path: string;
  children: Map<string, Resource>;
  variable?: { name: string; resource: Resource };
  /** `{proxy+}`: whatever no other resource has */
  rest?: Resource;
  /** by method; `ANY` is for methods that are not named */
  methods: Map<string, Integration>;
}

export interface ApiDefinition {
  root: Resource;
  /** by response type, for example `REQUEST_TOO_LARGE` */
  gatewayAnswers: Map<string, StaticAnswer>;
}

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
export function readApi(template: Template): ApiDefinition {
  const root: Resource = { path: '', children: new Map(), methods: new Map() };
  const resources = new Map([['root', root]]);
  const parts = new Map(resourcesOf(template, 'AWS::ApiGateway::Resource', resourceProperties));
  const place = (id: string): Resource | undefined => {
    const part = parts.get(id);
    const parent = !resources.has(id) && part && place(part.ParentId);
    if (parent) resources.set(id, addChild(parent, part.PathPart));
    return resources.get(id);
  };
  for (const [, { HttpMethod, ResourceId, Integration }] of resourcesOf(template, 'AWS::ApiGateway::Method', methodProperties)) {
    const integration: Integration =
      Integration.Type === 'AWS_PROXY'
        ? { kind: 'lambda', functionId: functionBehind(Integration.Uri) }
        : { kind: 'mock', answer: toAnswer(Integration.IntegrationResponses[0]), mediaTypes: Object.keys(Integration.RequestTemplates) };
    place(ResourceId)?.methods.set(HttpMethod, integration);
  }
  const gateway = resourcesOf(template, 'AWS::ApiGateway::GatewayResponse', gatewayProperties);
  return { root, gatewayAnswers: new Map(gateway.map(([, properties]) => [properties.ResponseType, toAnswer(properties)])) };
}

function addChild(parent: Resource, part: string): Resource {
  const child: Resource = { path: `${parent.path}/${part}`, children: new Map(), methods: new Map() };
  const name = /^\{([^+}]+)\}$/.exec(part)?.[1];
  if (part === '{proxy+}') parent.rest = child;
  else if (name === undefined) parent.children.set(part, child);
  else parent.variable = { name, resource: child };
  return child;
}

/** The one whose ARN is in an integration's address. */
function functionBehind(uri: unknown): string {
  const id = /"Fn::GetAtt":\["(\w+)","Arn"\]/.exec(JSON.stringify(uri))?.[1];
  if (id === undefined) throw new TypeError('an integration of the template is not a function');
  return id;
}

function toAnswer({ StatusCode, ResponseParameters, ResponseTemplates }: z.output<typeof answerProperties>): StaticAnswer {
  const headers = Object.entries(ResponseParameters).map(([name, expression]) => [name.replace(/^.*?\.header\./, ''), expression]);
  return { status: StatusCode, headers: Object.fromEntries(headers), body: ResponseTemplates['application/json'] ?? '' };
}

export interface Match {
  resource: Resource;
  /** undecoded, as the gateway hands them on */
  pathParameters: Record<string, string>;
}

/** The resource at a path; a static segment wins over a variable, and both over the rest of the root. */
export function findResource(root: Resource, path: string): Match | undefined {
  const pathParameters: Record<string, string> = {};
  let resource = root;
  for (const segment of path === '/' ? [] : path.split('/').slice(1)) {
    const next = resource.children.get(segment);
    if (next) {
      resource = next;
    } else if (resource.variable && segment !== '') {
      pathParameters[resource.variable.name] = segment;
      resource = resource.variable.resource;
    } else {
      return root.rest && { resource: root.rest, pathParameters: {} };
    }
  }
  return resource.methods.size > 0 ? { resource, pathParameters } : undefined;
}
