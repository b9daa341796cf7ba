import type { StoredCredential } from '../../../schemas/credential.ts';
import type { Issue } from '../../../schemas/errors.ts';
import type { Intent, IntentEndpoint } from '../../../schemas/intent.ts';
import type { Service } from '../../../schemas/service.ts';
import type { Credential } from '../credentials/credentials.ts';
import { pointer } from '../json/json.ts';
import { invalidParameter } from '../runtime/api-error.ts';
import { decodeFiles, describeMembers, formEncode, writeBody } from './body.ts';
import { carrierOf, isDescribing, isJsonType, isMultipartType, sendsBodyAnyway } from './endpoint.ts';
import { encode, fieldsOf, isEmpty, itemsOf, type NameValuePair, write } from './fields.ts';
import type { Until } from './http-client.ts';
import { checkMembers, type Written } from './members.ts';
import { type Placeholder, parseUrlTemplate, placeholderNames, placeholdersOf, type UrlTemplate } from './url-template.ts';

export interface UpstreamRequest {
  method: IntentEndpoint['method'];
  url: string;
  /** present exactly if `body` is */
  contentType?: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
  /** value of `Accept`; default: JSON, else anything */
  accept?: string;
  /** the tool of an MCP server to which the body is the arguments */
  mcp?: IntentEndpoint['mcp'];
  until?: Until;
}

export interface UpstreamCall {
  request: UpstreamRequest;
  intentUid: string;
  /** `credential`: calls to its origins carry it, and fail without it */
  service: Pick<Service, 'service_id' | 'service_url' | 'headers'> & { credential?: StoredCredential };
  agentId: string;
  /** account of the holder, see `pat/holder.ts` */
  account: string;
  /** domain for which the agent is verified */
  agentDomain?: string | undefined;
  requestId: string;
  executionId: string;
  idempotencyKey?: string;
  baseUrl: string;
  /** what a feature has obtained as the client that is the service's credential */
  token?: Credential | undefined;
  /** Makes sure that the call may still be made; for messages that accompany it. @throws ApiError */
  recheck?: () => Promise<unknown>;
  /** maximum duration of the call, in milliseconds */
  deadlineMs: number;
}

type Values = Record<string, unknown>;

/** Longest URL with filled placeholders, in characters. */
const maxUrlLength = 8192;

/** Longest query or form, in characters: bracketed objects repeat their name for every value. */
const maxFieldsLength = 1024 * 1024;

/** A value as comma-separated text (RFC 6570 without the explode modifier). */
const list = (value: unknown): string => itemsOf(value).map(encode).join(',');

/**
 * Builds the upstream request of an intent: placeholders in the URL first, the remaining parameters in the query or the body.
 * @param values - what the validator of the intent's input parameters returned
 * @throws ApiError INVALID_PARAMETER if the values do not fit the URL
 */
export function buildRequest(
  { endpoint, input_parameters }: Pick<Intent, 'endpoint' | 'input_parameters'>,
  values: Values,
): UpstreamRequest {
  const template = parseUrlTemplate(endpoint.url);
  if (typeof template === 'string') throw new TypeError('the intent is registered with a URL that is not a template');
  const placed = placeholderNames(template);
  const remaining = input_parameters.filter(({ name }) => !placed.has(name) && Object.hasOwn(values, name));
  const {
    query = [],
    body = [],
    header = [],
    filename = [],
    content_type = [],
  } = Object.groupBy(
    remaining.map((input) => ({ ...input, value: values[input.name] })),
    (input) => carrierOf(input, endpoint),
  );

  const isForm = !isJsonType(endpoint.content_type);
  const issues = checkMembers([...query, ...(isForm ? writtenAsFields(body, endpoint) : [])], declaredNames(template, input_parameters));
  const filled = expand(template, values, issues);
  const sent = describeMembers(decodeFiles(body, issues), [...filename, ...content_type], issues);
  if (issues.length > 0) throw invalidParameter(issues);
  const collect = openCollector();
  const queryFields = query.flatMap(({ name, value, style }) => collect(fieldsOf(name, value, style)));
  const fullQuery = [...filled.query, formEncode(queryFields)].filter((part) => part !== '').join('&');
  const url = `${template.origin}${filled.path || '/'}${fullQuery === '' ? '' : `?${fullQuery}`}`;
  if (url.length > maxUrlLength) {
    throw invalidParameter([{ path: '/parameters', problem: `must produce a URL of at most ${maxUrlLength} characters` }]);
  }
  const headers = Object.fromEntries(header.map(({ name, value }) => [name, write(value)]));
  const { method, accept, mcp } = endpoint;
  const call = { method, url, ...(header.length > 0 && { headers }), ...(accept !== undefined && { accept }), ...(mcp && { mcp }) };
  return sent.length > 0 || sendsBodyAnyway(endpoint) ? { ...call, ...writeBody(endpoint, sent, collect) } : call;
}

/** The values of a body that are written as fields. */
const writtenAsFields = (body: readonly Written[], { content_type, body: whole }: Intent['endpoint']): readonly Written[] =>
  typeof whole === 'string'
    ? body.map(({ name, value }) => ({ name, value }))
    : isMultipartType(content_type)
      ? body.filter(({ style }) => style !== undefined)
      : body;

/** Collects fields up to a maximum length: a few values can produce many fields. */
function openCollector(): (fields: Iterable<NameValuePair>) => NameValuePair[] {
  let length = 0;
  return (fields) => {
    const taken: NameValuePair[] = [];
    for (const field of fields) {
      length += field.name.length + field.value.length;
      if (length > maxFieldsLength) {
        throw invalidParameter([{ path: '/parameters', problem: `must produce a query or form of at most ${maxFieldsLength} characters` }]);
      }
      taken.push(field);
    }
    return taken;
  };
}

/** Fills the placeholders, and adds an issue for each value that may not appear in the path. Query expansions are returned separately. */
function expand({ parts }: UrlTemplate, values: Values, issues: Issue[]): { path: string; query: string[] } {
  let text = '';
  const expansions: string[] = [];
  const inPath: { name: string; text: string }[] = [];
  for (const part of parts) {
    if (typeof part === 'string') text += part;
    else if (part.operator !== '') expansions.push(...expandQuery(part, values));
    else {
      const filled = part.names.map((name) => ({ name, text: Object.hasOwn(values, name) ? list(values[name]) : '' }));
      if (!text.includes('?')) inPath.push(...filled);
      text += filled
        .filter(({ name }) => Object.hasOwn(values, name))
        .map((item) => item.text)
        .join(',');
    }
  }
  const [path = '', ...literalQuery] = text.split('?');
  const hasDotSegment = path.split('/').some((segment) => /^\.{1,2}$/.test(segment.replace(/%2e/gi, '.')));
  for (const { name, text: filled } of inPath) {
    const problem = filled === '' ? 'must not be empty' : hasDotSegment && /^\.+$/.test(filled) ? 'must not be . or ..' : undefined;
    if (problem !== undefined) issues.push({ path: pointer(['parameters', name]), problem: `${problem}, because it is part of a path` });
  }
  return { path, query: [literalQuery.join('?'), ...expansions] };
}

const expandQuery = ({ names }: Placeholder, values: Values): string[] =>
  names.filter((name) => Object.hasOwn(values, name) && !isEmpty(values[name])).map((name) => `${encode(name)}=${list(values[name])}`);

/** Parameter names in the literal query of the URL. */
function literalNames({ parts }: UrlTemplate): string[] {
  const [, ...literalQuery] = parts
    .map((part) => (typeof part === 'string' ? part : ''))
    .join('')
    .split('?');
  return [...new URLSearchParams(literalQuery.join('?')).keys()];
}

/**
 * Names reserved for parameters and the literal query, which members of objects must not have, wherever the parameters go: some services read the query
 * in place of what the path or the body lacks, and conditions of the policy are about parameters by name.
 */
const declaredNames = (template: UrlTemplate, inputs: Intent['input_parameters']): string[] => [
  ...inputs.filter((input) => input.in !== 'header' && !isDescribing(input)).map(({ name }) => name),
  ...literalNames(template),
];

/** Names that calls write into the query or form, as far as they are known at registration. */
export function writtenNames(
  { endpoint, input_parameters }: Pick<Intent, 'endpoint' | 'input_parameters'>,
  template: UrlTemplate,
): string[] {
  const expanded = placeholdersOf(template).flatMap(({ operator, names }) => (operator === '' ? [] : names));
  const placed = placeholderNames(template);
  const isJson = isJsonType(endpoint.content_type);
  const others = input_parameters.filter((input) => {
    const carrier = carrierOf(input, endpoint);
    return !placed.has(input.name) && (carrier === 'query' || (carrier === 'body' && !isJson && endpoint.body !== input.name));
  });
  return [...literalNames(template), ...expanded, ...others.map(({ name }) => name)];
}
