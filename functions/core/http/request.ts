import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type * as z from 'zod';
import { isObject, type JsonValue, parse, parseJson, pointer } from '../json/json.ts';
import { ApiError, invalidParameter } from '../runtime/api-error.ts';
import { splitList } from '../runtime/environment.ts';
import { namesRevision } from './response.ts';

/** Maximum size of a request body, in bytes. */
const maxBodyBytes = 256 * 1024;

/** A request, independent of the gateway's format. */
export interface ApiRequest {
  method: string;
  /** path below the base URL, not decoded */
  path: string;
  /** the route that was matched, with its variables */
  route: string;
  requestId: string;
  /** the address at which the gate is called, without a trailing slash */
  baseUrl: string;
  /** a path variable, decoded */
  pathParameter(name: string): string;
  /** the single value of a header, by its lower-case name; a repeated header is refused with 400 */
  header(name: string): string | undefined;
  /** every value of a header, by its lower-case name */
  headerValues(name: string): string[];
  /** the query parameters that `schema` knows, without empty ones; one that is repeated with different values is refused with 400 */
  query<T extends z.ZodObject>(schema: T): z.output<T>;
  /** every query parameter, unparsed, the first value of each */
  queryValues(): Record<string, string>;
  /** the body, after media type and size have been checked */
  text(): string;
  /** the body, after JSON grammar has been checked too */
  json(): JsonValue;
  body<T extends z.ZodType>(schema: T): z.output<T>;
  /** the fields of a form, like `query` */
  form<T extends z.ZodObject>(schema: T): z.output<T>;
  /** whether the caller does not get the content of the answer, as with HEAD */
  dropsContent?: boolean;
  /**
   * default `Idempotency-Key` of a deferred call; `isFreedByAnswer`: it is free again once the outcome has been given, because the transport cannot tell
   * a repeated call from a new one
   */
  keyIfDeferred?: { key: string; isFreedByAnswer?: boolean };
  /** default `Idempotency-Key` of another call whose intent requires one */
  keyIfRequired?: string;
  /** whether `If-Match` is absent or names this revision ({@link namesRevision}); a change that `If-None-Match` excludes is refused with 409 */
  ifMatch(record: { rev: number }, digest?: string): boolean;
  /** remaining time of the invocation, in milliseconds */
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
  const text = () => {
    checkMediaType(header('content-type'), protocol);
    return decodeBody(event);
  };
  const json = () => parseJson(text(), { isExact: true });
  return {
    method: event.httpMethod,
    path: event.path,
    route: event.resource,
    requestId: event.requestContext.requestId,
    baseUrl: publicUrl(event, baseUrl),
    pathParameter: (name) => decodeSegment(event.pathParameters?.[name] ?? ''),
    header,
    headerValues: (name) => headerValues(event, name),
    dropsContent: event.httpMethod === 'HEAD',
    query: (schema) => {
      const names = Object.keys(schema.shape);
      refuseOtherNames(event, names);
      return parse(
        schema,
        singleValues((name) => event.multiValueQueryStringParameters?.[name] ?? [], names),
      );
    },
    queryValues: () => ({ ...(event.queryStringParameters as Record<string, string> | null) }),
    text,
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
    ifMatch: (record, digest) => {
      const [given] = headerValues(event, 'if-match');
      if (/^(PUT|DELETE)$/.test(event.httpMethod)) {
        if (/^\s*(W\/|$)/.test(given ?? '*')) throw unusableTag();
        const excluded = headerValues(event, 'if-none-match').join(',').replaceAll('W/', '');
        if (namesRevision(excluded, record)) throw excludedRecord();
      }
      return namesRevision(given, record, digest);
    },
    remainingMs: () => context.getRemainingTimeInMillis(),
  };
}

/** An `If-Match` that no record can match: reading the record again would not help. */
const unusableTag = () =>
  invalidParameter([{ path: '', problem: 'the header If-Match must be an ETag as it was read, in quotation marks and without W/' }]);

/** A false `If-None-Match` on a change (RFC 9110 section 13.1.2). */
const excludedRecord = () =>
  new ApiError(
    'CONFLICT',
    'Nothing was changed: the record exists, and If-None-Match excludes it. Leave this header out to change the record.',
    { details: { reason: 'etag_mismatch' } },
  );

export const headerValues = ({ multiValueHeaders }: APIGatewayProxyEvent, name: string): string[] =>
  Object.entries(multiValueHeaders ?? {}).flatMap(([given, values]) => (given.toLowerCase() === name ? (values ?? []) : []));

/** The configured public address (of several, the one that was called, or else the first), or {@link calledBaseUrl} without one. */
export function publicUrl(event: APIGatewayProxyEvent, configured?: string): string {
  const [first, ...others] = splitList(configured);
  return others.find((url) => url.endsWith(`//${event.requestContext.domainName}`)) ?? first ?? calledBaseUrl(event);
}

/**
 * `https://<domain><stage>`: the stage is part of the path only under the API's default domain. The spelling of the host (capitals, default port,
 * trailing dot) does not matter.
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
 * Names that other APIs give to these parameters. Unknown parameters are ignored, but ignoring one of these would return a wrong result: everything,
 * unfiltered, or always the first page.
 */
const otherNames = [
  { names: ['skip', 'offset', 'start'], parameter: 'page', advice: 'use page, or follow the Link header' },
  { names: ['limit', 'per_page', 'pageSize'], parameter: 'page_size', advice: 'use page_size, or follow the Link header' },
  { names: ['q', 'search', 'text'], parameter: 'query', advice: 'use query' },
  { names: ['name'], parameter: 'intent_name', advice: 'use query, intent_name or service_name' },
  { names: ['tag'], parameter: 'tags', advice: 'use tags' },
  { names: ['dryRun', 'dry-run'], parameter: 'dry_run', advice: 'use dry_run' },
  { names: ['agent_id'], parameter: 'key_thumbprint', advice: 'put the agent_id into the path' },
];

function refuseOtherNames(event: APIGatewayProxyEvent, known: string[]): void {
  const isGiven = (name: string) => event.multiValueQueryStringParameters?.[name]?.some((value) => value !== '');
  const issues = otherNames
    .filter(({ parameter }) => known.includes(parameter))
    .flatMap(({ names, advice }) => {
      const meant = names.filter((name) => isGiven(name) && !known.includes(name));
      return meant.map((name) => ({ path: pointer([name]), problem: `is not a parameter of this endpoint: ${advice}` }));
    });
  if (issues.length > 0) throw invalidParameter(issues);
}

function singleValues(valuesOf: (name: string) => string[], names: string[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of names) {
    // repeating the same value says nothing else
    const given = [...new Set(valuesOf(name))];
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
  if (isJson && (charset === undefined || /^charset="?utf-?8"?$/.test(charset))) return;
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
    throw invalidParameter([{ path: '', problem: 'must be valid UTF-8; no Content-Encoding is supported' }]);
  }
}

function requireObject(value: JsonValue): JsonValue {
  if (isObject(value)) return value;
  throw invalidParameter([{ path: '', problem: 'must be a JSON object' }]);
}
