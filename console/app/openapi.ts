import { quote } from '../../registry/shell-words.ts';
import type { ApiContent, ApiDocument, ApiOperation, ApiParameter, ApiResponse, JsonSchema, Reference } from '../../schemas/openapi.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { describeType, type Field } from './field-values.ts';

/** A member of a body, at any depth: `intents[].intent_uid`. */
export interface Member {
  name: string;
  type: string;
  isRequired: boolean;
  description: string | undefined;
}

/** An operation, with its references resolved. */
export interface Operation extends Pick<ApiOperation, 'operationId' | 'summary' | 'description' | 'tags'> {
  method: string;
  path: string;
  /** security scheme of its token, if any */
  scheme: string | undefined;
  isTokenRequired: boolean;
  parameters: Field[];
  /** media type of the request body, if any */
  mediaType: string | undefined;
  body: Body;
  responses: { status: string; description: string; headers: [name: string, description: string][]; mediaType: string; body: Body }[];
}

export interface Body {
  members: Member[];
  /** undefined if the document has none */
  example: unknown;
}

interface ApiRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** The operations of the OpenAPI document, in its order. */
export function listOperations(document: ApiDocument): Operation[] {
  function resolve<T extends object>(given: T | Reference): T {
    if (!('$ref' in given) || typeof given.$ref !== 'string') return given as T;
    const target = given.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], document);
    return resolve(target as T | Reference);
  }

  function typeOf(given: JsonSchema): string {
    const schema = resolve(given);
    const { const: fixed, enum: choices, anyOf, items, type = 'any' } = schema as JsonSchema & { enum?: unknown[] } & Nested;
    if (fixed !== undefined) return JSON.stringify(fixed);
    if (choices) return choices.map((choice) => JSON.stringify(choice)).join(' or ');
    if (anyOf) return anyOf.map(typeOf).join(' or ');
    return items ? `array of ${typeOf(items)}` : describeType({ ...schema, type } as unknown as Parameter);
  }

  /** @param above - the enclosing schemas, so that recursive ones are listed once */
  function listMembers(given: JsonSchema, prefix = '', above: readonly JsonSchema[] = []): Member[] {
    const schema = resolve(given);
    if (above.includes(schema)) return [];
    const inner = (one: JsonSchema, name: string) => listMembers(one, name, [...above, schema]);
    const { properties = {}, required = [], items, anyOf = [], additionalProperties } = schema as JsonSchema & Nested;
    return [
      ...Object.entries(properties).flatMap(([name, member]) => [
        { name: prefix + name, type: typeOf(member), isRequired: required.includes(name), description: resolve(member).description },
        ...inner(member, `${prefix}${name}.`),
      ]),
      ...(items ? inner(items, prefix.replace(/\.?$/, '[].')) : []),
      ...anyOf.flatMap((one) => inner(one, prefix)),
      ...(typeof additionalProperties === 'object' ? inner(additionalProperties, `${prefix}*.`) : []),
    ];
  }

  function toBody({ schema = {}, examples = {} }: Partial<ApiContent>): Body {
    const [example] = Object.values(examples);
    return { members: listMembers(schema), example: example && resolve<{ value?: unknown }>(example).value };
  }

  /** The field of a parameter. Its name includes the location, because several locations may have parameters of the same name. */
  function toField({ name, in: location, required, description, schema: given }: ApiParameter): Field {
    const { const: fixed, ...schema } = resolve(given);
    const shape = { type: 'string', ...schema, ...(fixed !== undefined && { enum: [fixed] }) } as unknown as Parameter;
    const hint = [(description ?? schema.description)?.replaceAll('`', ''), typeOf(given), `in the ${location}`]
      .filter(Boolean)
      .join(' · ');
    return { ...shape, maxLength: undefined, name: `${location} ${name}`, label: name, required, hint };
  }

  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security, parameters = [], requestBody, responses, ...rest }]) => {
      const [mediaType] = Object.keys(requestBody?.content ?? {});
      return {
        ...rest,
        method: method.toUpperCase(),
        path,
        scheme: security.flatMap((one) => Object.keys(one))[0],
        isTokenRequired: security.length > 0 && security.every((one) => Object.keys(one).length > 0),
        parameters: parameters.map((parameter) => toField(resolve(parameter))),
        mediaType,
        body: toBody(requestBody?.content[mediaType ?? ''] ?? {}),
        responses: Object.entries(responses).map(([status, response]) => {
          const { description, headers = {}, content = {} } = resolve<ApiResponse>(response);
          const [[type = '', found = {}] = []] = Object.entries(content);
          const described = Object.entries(headers).map(([name, header]): [string, string] => [
            name,
            resolve<{ description?: string }>(header).description ?? '',
          ]);
          return { status, description, headers: described, mediaType: type, body: toBody(found) };
        }),
      };
    }),
  );
}

interface Nested {
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  additionalProperties?: JsonSchema | boolean;
}

/**
 * Builds the request of an operation.
 * @param values - values by field name
 */
export function toRequest({ method, path, parameters, mediaType }: Operation, values: Record<string, unknown>, body: string): ApiRequest {
  const given = (location: string): [string, string][] =>
    parameters.flatMap(({ name, label = '' }) =>
      name.startsWith(`${location} `) && values[name] !== undefined ? [[label, String(values[name])]] : [],
    );
  const filled = given('path').reduce((text, [name, value]) => text.replace(`{${name}}`, () => encodeURIComponent(value)), path);
  const query = new URLSearchParams(given('query'));
  return {
    method,
    path: query.size > 0 ? `${filled}?${query}` : filled,
    headers: { ...Object.fromEntries(given('header')), ...(mediaType !== undefined && { 'Content-Type': mediaType }) },
    body: mediaType === undefined ? undefined : body,
  };
}

/** The request as a curl command. The token is in an environment variable, never in the text. */
export function toCurl(gateUrl: string, { method, path, headers, body }: ApiRequest, scheme: string | undefined): string {
  return [
    `curl -sS -i -X ${method} ${quote(gateUrl + path)}`,
    ...(scheme === undefined ? [] : [`-H "Authorization: Bearer $${scheme === 'pat' ? 'PAT' : 'ADMIN_TOKEN'}"`]),
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quote(body)}`]),
  ].join(' \\\n  ');
}
