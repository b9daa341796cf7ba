import { compileDefinition, mayBeHeader } from '../../functions/core/parameters/keywords.ts';
import { isJsonType } from '../../functions/core/relay/endpoint.ts';
import { headerValue, publicHeaderName } from '../../schemas/header.ts';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import { acceptedMediaTypes } from '../../schemas/media-type.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { anything, type Facts } from './facts.ts';
import { type Input, isCompound } from './input.ts';
import { type AddNote, follow, list, type Node, node, pathOf, Unfit, written } from './node.ts';
import { type Operation, type Reading, readMediaTypes, readParameters, readSuccesses } from './operation.ts';
import { makeParameter } from './parameter.ts';

/** Headers that the gate sets itself, or that APIs do not need from callers. */
const suppliedHeaders = [
  'accept',
  'content-type',
  'user-agent',
  'x-request-id',
  'accept-encoding',
  'host',
  'content-length',
  'traceparent',
  'tracestate',
];

const credentialHeader =
  /^(authorization|token|(x-)?(.*-)?(api|access|auth|subscription)[-_]?(key|token)|x-functions-key|x-api-secret|private-token)$/;

/** Names of header fields (in lower case), query parameters and cookies that carry credentials. */
interface CredentialNames {
  header: ReadonlySet<string>;
  query: ReadonlySet<string>;
  cookie: ReadonlySet<string>;
}

export interface HeaderRules {
  credentials: CredentialNames;
  /** header fields sent with every call, by lower-case name */
  fixed: ReadonlyMap<string, { name: string; value: string }>;
  /** lower-case names of header fields to leave out */
  ignored: ReadonlySet<string>;
}

const keyHeader = 'idempotency-key';

/** Whether callers may set a header field: not those that control the connection or identify the caller. */
const mayBeField = (name: string): boolean => publicHeaderName.safeParse(name).success;

const lower = (parameter: Node): string => String(parameter.name).toLowerCase();

/** Header parameters of all operations. Unreadable ones are reported with their operation. */
function headersOf(operations: readonly Operation[]): Node[] {
  return operations.flatMap(({ pathItem, node: operation }) => {
    try {
      return readParameters(pathItem, operation).filter((parameter) => parameter.in === 'header');
    } catch (error) {
      if (error instanceof Unfit) return [];
      throw error;
    }
  });
}

/** The only allowed value of a header parameter. */
function constantOf(parameter: Node): string | undefined {
  const schema = node(follow(parameter.schema ?? parameter));
  const allowed = list(schema.enum);
  const value = written(schema.const ?? (allowed.length === 1 ? allowed[0] : undefined));
  return headerValue.safeParse(value).success ? value : undefined;
}

/**
 * Header fields that at least half of the operations require, always with the same value.
 * @param given - header fields set by the admin, which take precedence
 */
export function findFixedHeaders(
  operations: readonly Operation[],
  credentials: CredentialNames,
  ignored: HeaderRules['ignored'],
  given: Readonly<Record<string, string>>,
): HeaderRules['fixed'] {
  const fixed = new Map<string, { name: string; value: string }>();
  for (const [name, parameters] of Map.groupBy(headersOf(operations), lower)) {
    if (parameters.length * 2 < operations.length || isHandled(name, credentials) || ignored.has(name)) continue;
    if (parameters.some((parameter) => parameter.required !== true)) continue;
    const [value, ...others] = new Set(parameters.map(constantOf));
    if (value !== undefined && others.length === 0) fixed.set(name, { name: String(parameters[0]?.name), value });
  }
  for (const [name, value] of Object.entries(given)) fixed.set(name.toLowerCase(), { name, value });
  return fixed;
}

/** @param name - in lower case */
export const isCredential = (name: string, { header }: CredentialNames): boolean => header.has(name) || credentialHeader.test(name);
const isHandled = (name: string, credentials: CredentialNames): boolean =>
  suppliedHeaders.includes(name) || !mayBeField(name) || name === keyHeader || isCredential(name, credentials);

export function readCredentialNames(schemes: Node, operations: readonly Operation[]): CredentialNames {
  const keys = Object.values(schemes)
    .map((scheme) => node(follow(scheme)))
    .filter(({ type }) => type === 'apiKey');
  const named = (location: string) => keys.filter((key) => key.in === location).map(({ name }) => String(name));
  const likely = headersOf(operations)
    .map(lower)
    .filter((name) => credentialHeader.test(name));
  return {
    header: new Set([...named('header').map((name) => name.toLowerCase()), ...likely]),
    query: new Set(named('query')),
    cookie: new Set(named('cookie')),
  };
}

/** Whether a query or body field carries the credential: some APIs accept it there as well as in a header; they do not require the field. */
export const isCredentialField = ({ name, isRequired }: Pick<Input, 'name' | 'isRequired'>, { header, query }: CredentialNames): boolean =>
  query.has(name) || (!isRequired && header.has(name.toLowerCase()) && /token|key|secret/i.test(name));

/** @throws Unfit if the operation needs a header or cookie that a call cannot send */
export function fitHeader(parameter: Node, read: () => Input, { credentials, fixed, ignored }: HeaderRules, addNote: AddNote): Input[] {
  const name = lower(parameter);
  const path = pathOf(parameter);
  const note = (words: string): [] => {
    addNote(path, `the ${parameter.in} ${parameter.name} was left out: ${words}`);
    return [];
  };
  if (parameter.in === 'cookie') {
    if (credentials.cookie.has(String(parameter.name))) return note("it is the service's credential, which the gate adds to its calls");
    if (parameter.required === true)
      throw new Unfit(path, `needs the cookie ${parameter.name}, and calls do not forward the caller's cookies`);
    return note("calls do not forward the caller's cookies");
  }
  if (fixed.has(name)) return [];
  if (ignored.has(name)) return note('as --ignore-header says');
  if (isCredential(name, credentials)) return note("it is the service's credential, which the gate adds to its calls");
  if (suppliedHeaders.includes(name) || name === keyHeader) return [];
  if (!mayBeField(name)) {
    if (parameter.required === true) throw new Unfit(path, `needs the header ${parameter.name}, which callers may not choose`);
    return note('callers may not choose it');
  }
  const input = read();
  return [{ ...input, facts: toField(input.facts, parameter) }];
}

/** The styles of Swagger's `collectionFormat` in which header fields are not separated by commas. */
const separators: Record<string, string> = { spaceDelimited: 'spaces', pipeDelimited: 'vertical bars (|)', tsv: 'tabs' };

/** Header values are strings, numbers or booleans. */
function toField(facts: Facts, { style, explode }: Node): Facts {
  const types = [...(facts.types ?? [])].filter((type) => type !== 'null');
  if (types.length === 1 && types.every((type) => mayBeHeader(type as Parameter['type']))) return facts;
  const separated = facts.types?.has('object')
    ? `The members are written as ${explode === true ? 'a=1,b=2' : 'a,1,b,2'}.`
    : `Several values are separated by ${separators[String(style)] ?? 'commas'}.`;
  const description = [facts.description, isCompound(facts) ? separated : ''].filter(Boolean).join(' ');
  return { ...anything, types: new Set(['string']), description: description || undefined };
}

/** A key as the gate sends it, as a digest and as a UUID. */
const [digest, uuid] = ['0aB-_9zY'.repeat(6).slice(0, 43), '9b2e4a6c-0d1f-8a3b-9c5d-7e8f0a1b2c3d'];

/** What an operation says about the key that the gate sends with each call. */
export function readIdempotencyKey(parameters: readonly Node[], { readSchema, addNote }: Reading): IntentEndpoint['idempotency_key'] {
  const parameter = parameters.find((one) => one.in === 'header' && lower(one) === keyHeader);
  if (parameter === undefined) return undefined;
  const definition = makeParameter('key', false, readSchema(parameter.schema), pathOf(parameter), addNote);
  const takes = (key: string) => definition === undefined || compileDefinition({ ...definition, type: 'string' })(key).length === 0;
  const isUuid = !takes(digest) && takes(uuid);
  if (!takes(digest) && !isUuid)
    addNote(pathOf(parameter), 'the service may refuse the Idempotency-Key, which is a digest of the key that the agent sends');
  const isRequired = parameter.required === true;
  return isRequired || isUuid ? { ...(isRequired && { required: true }), ...(isUuid && { format: 'uuid' }) } : undefined;
}

/**
 * The media types that an operation declares for success, in their order; undefined if that is JSON only. If there is JSON, which the outputs
 * describe, it is preferred to the others; errors may be of any type.
 */
export function readAccept({ node: operation }: Operation): string | undefined {
  const types = [
    ...new Set(readSuccesses(operation).flatMap(([, response]) => readMediaTypes(response).map(({ contentType }) => contentType))),
  ];
  const valid = types.filter((type) => acceptedMediaTypes.safeParse(type).success);
  if (valid.every((type) => ['application/json', 'application/*', '*/*'].includes(type))) return undefined;
  const hasJson = valid.some(isJsonType);
  const rated = [...valid.map((type) => (hasJson && !isJsonType(type) ? `${type};q=0.5` : type)), '*/*;q=0.1'];
  while (rated.join(', ').length > 500) rated.splice(-2, 1);
  return rated.join(', ');
}
