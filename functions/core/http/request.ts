import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type * as z from 'zod';
import { ApiError, invalidParameter } from '../api-error.ts';
import { splitList } from '../environment.ts';
import { isObject, type JsonValue, parse, parseJson, pointer } from '../json.ts';
import { matchesEntityTags } from './response.ts';

/** Maximum size of a request body, in bytes. */
const maxBodyBytes = 256 * 1024;

/** A request as the action of an endpoint sees it, whatever the gateway made of it. */
export interface ApiRequest {
  method: string;
  /** the path below the base URL, undecoded */
  path: string;
  /** the path of the API that was matched, with the names of its variables: of an endpoint that has several, which it is */
  route: string;
  requestId: string;
  /** the address at which the gate is called, without a trailing slash */
  baseUrl: string;
  /** a path variable, decoded */
  pathParameter(name: string): string;
  /** a header's one value, by its lower-case name; a repeated header is refused with 400 */
  header(name: string): string | undefined;
  /** every value of a header, by its lower-case name */
  headerValues(name: string): string[];
  /** query parameters; the empty ones are left out, a repeated one that `schema` knows is refused with 400 */
  query<T extends z.ZodObject>(schema: T): z.output<T>;
  /** every query parameter as it was given, the first value of each */
  queryValues(): Record<string, string>;
  /** the body, after media type, size and JSON grammar have been checked */
  json(): JsonValue;
  /** the body, parsed with `schema` */
  body<T extends z.ZodType>(schema: T): z.output<T>;
  /** the fields of a form, parsed with `schema`; the empty ones are left out, a repeated one that `schema` knows is refused with 400 */
  form<T extends z.ZodObject>(schema: T): z.output<T>;
  /** whether the caller knows the record with one of these entity tags: from `If-Match`, and true without it */
  ifMatch(...etags: string[]): boolean;
  /** how long the invocation may still run, in milliseconds */
  remainingMs(): number;
}

export interface RequestSettings {
  /** bodies are `application/json` or `application/<protocol>+json` */
  protocol: string;
  /** the configured public address, or several, separated by commas, in a local stack */
  baseUrl?: string;
}

export function readRequest(event: APIGatewayProxyEvent, context: Context, { protocol, baseUrl }: RequestSettings): ApiRequest {
  const header = (name: string) => {
    const [value, ...more] = headerValues(event, name);
    if (more.length > 0) throw invalidParameter([{ path: '', problem: `the header ${name} must be sent once` }]);
    return value;
  };
  const json = () => {
    checkMediaType(header('content-type'), protocol);
    return parseJson(decodeBody(event), { isExact: true });
  };
  return {
    method: event.httpMethod,
    path: event.path,
    route: event.resource,
    requestId: event.requestContext.requestId,
    baseUrl: publicUrl(event, baseUrl),
    pathParameter: (name) => decodeSegment(event.pathParameters?.[name] ?? ''),
    header,
    headerValues: (name) => headerValues(event, name),
    query: (schema) => {
      const names = Object.keys(schema.shape);
      refuseOtherNames(event, names);
      return parse(
        schema,
        singleValues((name) => event.multiValueQueryStringParameters?.[name] ?? [], names),
      );
    },
    queryValues: () => ({ ...(event.queryStringParameters as Record<string, string> | null) }),
    json,
    body: (schema) => parse(schema, requireObject(json())),
    form: (schema) => {
      checkFormType(header('content-type'));
      const fields = [...new URLSearchParams(decodeBody(event))];
      return parse(
        schema,
        singleValues((name) => fields.flatMap(([given, value]) => (given === name ? [value] : [])), Object.keys(schema.shape)),
      );
    },
    ifMatch: (...etags) => matchesEntityTags(headerValues(event, 'if-match')[0], etags),
    remainingMs: () => context.getRemainingTimeInMillis(),
  };
}

/** Every value of a header, by its lower-case name. */
export const headerValues = ({ multiValueHeaders }: APIGatewayProxyEvent, name: string): string[] =>
  Object.entries(multiValueHeaders ?? {}).flatMap(([given, values]) => (given.toLowerCase() === name ? (values ?? []) : []));

/** The configured public address (of several, the one at which the gateway was called, else the first), or {@link calledBaseUrl} if there is none. */
export function publicUrl(event: APIGatewayProxyEvent, configured?: string): string {
  const [first, ...others] = splitList(configured);
  return others.find((url) => url.endsWith(`//${event.requestContext.domainName}`)) ?? first ?? calledBaseUrl(event);
}

/**
 * `https://<domain><stage>`: the stage is part of the path only under the API's default domain. However a client spells the host (capitals,
 * the default port, a dot at the end), it is the same gate.
 */
function calledBaseUrl({ requestContext }: APIGatewayProxyEvent): string {
  const stage = `/${requestContext.stage}`;
  const host = (requestContext.domainName ?? '').toLowerCase().replace(/:443$/, '').replace(/\.$/, '');
  return `https://${host}${`${requestContext.path}/`.startsWith(`${stage}/`) ? stage : ''}`;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment).normalize('NFC');
  } catch {
    throw invalidParameter([{ path: '', problem: 'the path must be percent-encoded UTF-8' }]);
  }
}

/**
 * What other APIs call these parameters. Unknown parameters are ignored, but to ignore one of these would answer another question: everything, unfiltered, or the first
 * page again and again.
 */
const otherNames: Record<string, { parameter: string; advice: string }> = {
  ...Object.fromEntries(
    ['skip', 'offset', 'start'].map((name) => [name, { parameter: 'page', advice: 'use page, or follow the Link header' }]),
  ),
  ...Object.fromEntries(
    ['limit', 'per_page', 'pageSize'].map((name) => [name, { parameter: 'page_size', advice: 'use page_size, or follow the Link header' }]),
  ),
  ...Object.fromEntries(['q', 'search', 'text'].map((name) => [name, { parameter: 'query', advice: 'use query' }])),
  name: { parameter: 'intent_name', advice: 'use query, intent_name or service_name' },
  tag: { parameter: 'tags', advice: 'use tags' },
};

/** @param names - of the parameters that the endpoint has */
function refuseOtherNames(event: APIGatewayProxyEvent, names: string[]): void {
  const issues = Object.entries(otherNames).flatMap(([name, { parameter, advice }]) => {
    const isGiven = event.multiValueQueryStringParameters?.[name]?.some((value) => value !== '');
    const isMeant = names.includes(parameter) && !names.includes(name);
    return isGiven && isMeant ? [{ path: pointer([name]), problem: `is not known here: ${advice}` }] : [];
  });
  if (issues.length > 0) throw invalidParameter(issues);
}

function singleValues(valuesOf: (name: string) => string[], names: string[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of names) {
    const given = valuesOf(name);
    if (given.length > 1) throw invalidParameter([{ path: pointer([name]), problem: 'must be given once' }]);
    if (given[0] !== undefined && given[0] !== '') values[name] = given[0];
  }
  return values;
}

function checkMediaType(contentType: string | undefined, protocol: string): void {
  const [mediaType = '', ...attributes] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = attributes.find((attribute) => attribute.startsWith('charset='));
  const isJson = mediaType === 'application/json' || mediaType === `application/${protocol}+json`;
  if (isJson && (charset === undefined || /^charset="?utf-8"?$/.test(charset))) return;
  throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as JSON in UTF-8, with the header Content-Type: application/json.');
}

function checkFormType(contentType = ''): void {
  if (/^application\/x-www-form-urlencoded *(;|$)/i.test(contentType.trim())) return;
  throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as a form, with the header Content-Type: application/x-www-form-urlencoded.');
}

function decodeBody({ body, isBase64Encoded }: APIGatewayProxyEvent): string {
  const bytes = Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > maxBodyBytes) {
    throw new ApiError('INVALID_PARAMETER', 'The body is larger than 262144 bytes. Send less.', {
      status: 413,
      details: { issues: [{ path: '', problem: 'must have at most 262144 bytes' }] },
    });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalidParameter([{ path: '', problem: 'must be valid UTF-8' }]);
  }
}

function requireObject(value: JsonValue): JsonValue {
  if (isObject(value)) return value;
  throw invalidParameter([{ path: '', problem: 'must be a JSON object' }]);
}
