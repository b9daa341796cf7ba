import type { StoredCredential } from '../../../schemas/credential.ts';
import type { Issue } from '../../../schemas/errors.ts';
import type { Intent, IntentEndpoint } from '../../../schemas/intent.ts';
import type { Service } from '../../../schemas/service.ts';
import { invalidParameter } from '../api-error.ts';
import { isObject, pointer } from '../json.ts';
import { hasBody, isFormType } from './endpoint.ts';
import { type Place, parseUrlTemplate, placesOf, type UrlTemplate } from './url-template.ts';

/** A call of an intent's endpoint, ready to be sent. */
export interface UpstreamRequest {
  method: IntentEndpoint['method'];
  url: string;
  /** both or neither: GET and DELETE have no body */
  contentType?: string;
  body?: string;
  /** the inputs that are header fields */
  headers?: Record<string, string>;
}

/** One execution of an intent, as its upstream sees it. */
export interface Execution {
  request: UpstreamRequest;
  intentUid: string;
  /** the intent's; with `credential` if calls at its origins carry one, and are not made without it */
  service: Pick<Service, 'service_id' | 'service_url' | 'headers'> & { credential?: StoredCredential };
  agentId: string;
  /** RFC 7638 thumbprint of the agent's key */
  thumbprint: string;
  requestId: string;
  executionId: string;
  idempotencyKey?: string;
  /** the address at which this gate was called */
  baseUrl: string;
  /** longest time that the call may take, in milliseconds */
  deadlineMs: number;
}

type Values = Record<string, unknown>;
type Pair = [name: string, value: string];

/** Longest URL in characters, once its places are filled. */
const maxUrlLength = 8192;

/** Percent-encodes all but RFC 3986's unreserved characters, as in RFC 6570 section 3.2.2. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** A value as text: a string as it is, anything else as JSON. */
const write = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A value as comma-separated text (RFC 6570 without the explode modifier); an object is its names and values in turn. */
function list(value: unknown): string {
  const items = Array.isArray(value) ? value : isObject(value) ? Object.entries(value).flat() : [value];
  return items.map((item) => encode(write(item))).join(',');
}

/** A value in OpenAPI's default style for queries (form, exploded): an array repeats its name, an object becomes its members. */
function explode(name: string, value: unknown): Pair[] {
  if (Array.isArray(value)) return value.map((item) => [name, write(item)]);
  if (isObject(value)) return Object.entries(value).map(([member, item]) => [member, write(item)]);
  return [[name, write(value)]];
}

const formEncode = (pairs: Pair[]): string => pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');

/**
 * Makes the call of an intent: places in the URL first, the remaining parameters in the query or the body.
 * @param values - what the validator of the intent's input parameters returned
 * @throws ApiError INVALID_PARAMETER if the values do not fit the URL
 */
export function buildRequest(
  { endpoint, input_parameters }: Pick<Intent, 'endpoint' | 'input_parameters'>,
  values: Values,
): UpstreamRequest {
  const template = parseUrlTemplate(endpoint.url);
  if (typeof template === 'string') throw new TypeError('the intent was registered with a URL that is no template');
  const placed = new Set(placesOf(template).flatMap((place) => place.names));
  const fields = input_parameters.flatMap(({ name, in: place }) => (place === 'header' && Object.hasOwn(values, name) ? [name] : []));
  const sent = input_parameters.filter((input) => input.in === undefined);
  const remaining = sent.map(({ name }) => name).filter((name) => !placed.has(name) && Object.hasOwn(values, name));
  const isJson = hasBody(endpoint.method) && !isFormType(endpoint.content_type);
  const pairs = isJson ? [] : remaining.flatMap((name) => explode(name, values[name]));

  const issues = isJson ? [] : checkMembers(remaining, values, reservedNames(template, sent));
  const { path, query } = expand(template, values, issues);
  if (issues.length > 0) throw invalidParameter(issues);
  const fullQuery = [...query, ...(hasBody(endpoint.method) ? [] : [formEncode(pairs)])].filter((part) => part !== '').join('&');
  const url = `${template.origin}${path || '/'}${fullQuery === '' ? '' : `?${fullQuery}`}`;
  if (url.length > maxUrlLength) {
    throw invalidParameter([{ path: '/parameters', problem: `must make a URL of at most ${maxUrlLength} characters` }]);
  }

  const headers = fields.length > 0 && { headers: Object.fromEntries(fields.map((name) => [name, write(values[name])])) };
  if (!hasBody(endpoint.method)) return { method: endpoint.method, url, ...headers };
  const body = isJson ? JSON.stringify(Object.fromEntries(remaining.map((name) => [name, values[name]]))) : formEncode(pairs);
  return { method: endpoint.method, url, contentType: endpoint.content_type, body, ...headers };
}

/** Fills the places, and adds to `issues` the values that may not appear in the path. Query expansions are kept apart, to be joined as needed. */
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

const expandQuery = ({ names }: Place, values: Values): string[] =>
  names.filter((name) => Object.hasOwn(values, name)).map((name) => `${encode(name)}=${list(values[name])}`);

/**
 * What servers may read the name of a query parameter as. Many ignore case; some read `a[b]` and `a.b` as part of `a`; PHP drops spaces
 * at the beginning, and reads a space, a full stop and an open bracket as `_`.
 */
function readings(name: string): string[] {
  const folded = name.trim().toLowerCase();
  return [folded.replace(/[[.].*$/s, ''), folded.replaceAll(/[\s.[]/g, '_')];
}

/** The names of parameters in the query of the URL itself. */
function literalNames({ parts }: UrlTemplate): string[] {
  const [, ...literalQuery] = parts
    .map((part) => (typeof part === 'string' ? part : ''))
    .join('')
    .split('?');
  return [...new URLSearchParams(literalQuery.join('?')).keys()];
}

/** The names that a member of an object must not take over: those of parameters and of the query in the URL itself. */
const reservedNames = (template: UrlTemplate, inputs: Intent['input_parameters']): Set<string> =>
  new Set([...inputs.map(({ name }) => name), ...literalNames(template)].flatMap(readings));

/** The names that calls of an intent write into the query, or into a form, as far as its registration tells. */
export function writtenNames(
  { endpoint, input_parameters }: Pick<Intent, 'endpoint' | 'input_parameters'>,
  template: UrlTemplate,
): string[] {
  const places = placesOf(template);
  const expanded = places.filter(({ operator }) => operator !== '').flatMap(({ names }) => names);
  const placed = new Set(places.flatMap(({ names }) => names));
  const isJson = hasBody(endpoint.method) && !isFormType(endpoint.content_type);
  const others = input_parameters.filter(({ name, in: place }) => place === undefined && !placed.has(name)).map(({ name }) => name);
  return [...literalNames(template), ...expanded, ...(isJson ? [] : others)];
}

/** The members of an object become parameters of their own, so none may take the name of another one. */
function checkMembers(names: string[], values: Values, reserved: Set<string>): Issue[] {
  const taken = new Set(reserved);
  return names.flatMap((name) => {
    const value = values[name];
    if (!isObject(value)) return [];
    const members = Object.keys(value);
    const issues = members
      .filter((member) => readings(member).some((reading) => taken.has(reading)))
      .slice(0, 100)
      .map((member) => ({
        path: pointer(['parameters', name, member.slice(0, 200)]),
        problem: 'must not have the name of another parameter of this call, because members are sent as parameters',
      }));
    for (const reading of members.flatMap(readings)) taken.add(reading);
    return issues;
  });
}
