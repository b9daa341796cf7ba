import type { Issue } from '../../../schemas/errors.ts';
import type { IntentEndpoint, IntentInput } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import type { NullRule } from '../parameters/compile.ts';
import { checkOrigin, type EgressRules } from './egress.ts';
import { parseUrlTemplate, placeholderNames, type UrlTemplate } from './url-template.ts';

/** Characters of URLs (RFC 3986), and the braces of placeholders. */
const urlCharacters = /^(?:[\w\-.~:/?#[\]@!$&'()*+,;={}]|%[0-9a-f]{2})*$/i;

export const isJsonType = (contentType: string): boolean =>
  /^(?:application\/(?:[a-z0-9.-]+\+)?json|text\/json) *(?:;|$)/i.test(contentType);
export const isFormType = (contentType: string): boolean => /^application\/x-www-form-urlencoded *(?:;|$)/i.test(contentType);
export const isMultipartType = (contentType: string): boolean => /^multipart\/form-data$/i.test(contentType);

/** Whether the gate encodes a body of this type itself, as opposed to text and bytes. */
const isEncoded = (contentType: string): boolean => isJsonType(contentType) || isFormType(contentType) || isMultipartType(contentType);

/** By default, GET and DELETE carry parameters in the query, other methods in the body. */
export const hasBody = (method: IntentEndpoint['method']): boolean => method !== 'GET' && method !== 'DELETE';

export function carrierOf(
  { name, in: carrier }: Pick<Parameter, 'name' | 'in'>,
  { method, body }: Pick<IntentEndpoint, 'method' | 'body'>,
) {
  if (body !== undefined) return body === name ? 'body' : (carrier ?? 'query');
  return carrier ?? (hasBody(method) ? 'body' : 'query');
}

/** What null for an input of an intent is: where no JSON is written, nothing; in a merge patch, it removes a member (RFC 7396). */
export function nullRules({ url, content_type, method, body }: IntentEndpoint): (input: Parameter) => NullRule {
  const template = parseUrlTemplate(url);
  const placed = typeof template === 'string' ? new Set<string>() : placeholderNames(template);
  const isPatch = /^application\/merge-patch\+json *(?:;|$)/i.test(content_type) && body === undefined;
  return (input) => {
    const isInJson = isJsonType(content_type) && !placed.has(input.name) && carrierOf(input, { method, body }) === 'body';
    if (!isInJson) return 'left out';
    return isPatch && !input.required ? 'value' : 'value if allowed';
  };
}

/** Whether a call has a body without parameters: an empty object or form. */
export const sendsBodyAnyway = ({ method, body, optional_body }: IntentEndpoint): boolean =>
  body === undefined && hasBody(method) && !optional_body;

const isNullable = (type: string | undefined): boolean => type === 'null' || type === 'any';

/** The inputs of an intent as a call with these values must have them: without any value in an optional body, none in it is required. */
export function expectedInputs(
  { endpoint, input_parameters: inputs }: Pick<IntentInput, 'endpoint' | 'input_parameters'>,
  values: Record<string, unknown>,
): Parameter[] {
  if (!endpoint.optional_body) return inputs;
  const template = parseUrlTemplate(endpoint.url);
  if (typeof template === 'string') return inputs;
  const placed = placeholderNames(template);
  const inBody = new Set(inputs.filter((input) => !placed.has(input.name) && carrierOf(input, endpoint) === 'body'));
  const rule = nullRules(endpoint);
  const mayBeNull = (input: Parameter) =>
    rule(input) === 'value' || (rule(input) === 'value if allowed' && [input.type, input.schema?.type].flat().some(isNullable));
  const isGiven = (input: Parameter) => Object.hasOwn(values, input.name) && (values[input.name] !== null || mayBeNull(input));
  const isSent = [...inBody].some((input) => input.default !== undefined || isGiven(input));
  return isSent ? inputs : inputs.map((input) => (inBody.has(input) ? { ...input, required: false } : input));
}

/** Problems of an endpoint at registration: its URL template, target, body, and the carriers of its inputs. */
export function checkEndpoint(endpoint: IntentEndpoint, inputs: readonly Parameter[], rules: EgressRules): Issue[] {
  const issues = checkUrl(endpoint.url, inputs, rules).map((problem) => ({ path: '/endpoint/url', problem }));
  const template = parseUrlTemplate(endpoint.url);
  const placed = typeof template === 'string' ? new Set<string>() : placeholderNames(template);
  return [
    ...issues,
    ...checkBody(endpoint, inputs, placed),
    ...inputs.flatMap((input, at) => checkCarrier(input, at, endpoint, inputs, placed)),
  ];
}

function checkBody(endpoint: IntentEndpoint, inputs: readonly Parameter[], placed: ReadonlySet<string>): Issue[] {
  const { method, content_type, body, mcp } = endpoint;
  const refuse = (member: string, problem: string): Issue[] => [{ path: `/endpoint/${member}`, problem }];
  if (mcp && (method !== 'POST' || !isJsonType(content_type) || body === null || endpoint.optional_body))
    return refuse('mcp', 'needs the method POST and a JSON body, which is never left out, for the arguments');
  const isForm = isFormType(content_type) || isMultipartType(content_type);
  // servers may read these as forms, too, and nothing would remove a repeated credential from their text
  if (!isForm && /^multipart\/|urlencoded/i.test(content_type))
    return refuse(
      'content_type',
      'must be multipart/form-data without parameters, or application/x-www-form-urlencoded, if the body is a form',
    );
  if (typeof body !== 'string') {
    const isSent = body === undefined && (hasBody(method) || inputs.some((input) => input.in === 'body'));
    if (!isSent || isEncoded(content_type)) return [];
    return refuse(
      'content_type',
      'must be application/json, another JSON type ending in +json, application/x-www-form-urlencoded or multipart/form-data, unless one parameter is the body',
    );
  }
  const whole = inputs.find(({ name }) => name === body);
  if (whole === undefined || placed.has(body) || whole.in !== undefined) {
    return refuse('body', 'must name an input parameter that has no placeholder in the URL and no member "in", or be null');
  }
  const type = isForm || mcp ? 'object' : isJsonType(content_type) ? undefined : 'string';
  return type === undefined || whole.type === type ? [] : refuse('body', `must name a parameter of type ${type} for this content type`);
}

/** Whether an input is the file name or media type of another one. */
export const isDescribing = ({ in: carrier }: Pick<Parameter, 'in'>): boolean => carrier === 'filename' || carrier === 'content_type';

/** The problem of an input that is the file name or media type of another one. */
function checkDescribing(
  input: Parameter,
  endpoint: IntentEndpoint,
  inputs: readonly Parameter[],
  placed: ReadonlySet<string>,
): [member: string, problem: string] | undefined {
  const { in: place, of, type } = input;
  const other = inputs.find(({ name }) => name === of);
  const isPart = other !== undefined && isPartOf(other, endpoint, placed);
  const isDescribed = isPart && (other.style === 'base64' || (place === 'content_type' && other.style === undefined));
  const isWhole = place === 'content_type' && endpoint.body === of && !isEncoded(endpoint.content_type);
  if (!isDescribing(input) || (!isDescribed && !isWhole))
    return ['of', 'must name a file in a multipart form, or for a content_type also a part, or a body that is text or bytes'];
  if (inputs.find((one) => one.in === place && one.of === of) !== input)
    return ['of', 'must not name the same parameter as another input of this kind'];
  const needed = other?.type === 'array' ? 'array' : 'string';
  return type === needed ? undefined : ['type', `must be ${needed}, because of the parameter that it describes`];
}

/** Whether an input is a part of a multipart form. */
const isPartOf = (input: Parameter, endpoint: IntentEndpoint, placed: ReadonlySet<string>): boolean =>
  isMultipartType(endpoint.content_type) &&
  endpoint.body !== input.name &&
  !placed.has(input.name) &&
  carrierOf(input, endpoint) === 'body';

function checkCarrier(
  input: Parameter,
  at: number,
  endpoint: IntentEndpoint,
  inputs: readonly Parameter[],
  placed: ReadonlySet<string>,
): Issue[] {
  const refuse = (member: string, problem: string): Issue => ({ path: `/input_parameters/${at}/${member}`, problem });
  const isPlaced = placed.has(input.name);
  const carrier = isPlaced ? 'url' : carrierOf(input, endpoint);
  const issues: Issue[] = [];
  const problem = input.of === undefined && !isDescribing(input) ? undefined : checkDescribing(input, endpoint, inputs, placed);
  if (problem) issues.push(refuse(...problem));
  // checkUrl refuses a header field in the URL
  if (input.in !== undefined && input.in !== 'header' && isPlaced)
    issues.push(refuse('in', 'must be left out, because the parameter has a placeholder in the URL'));
  else if (input.in === 'body' && endpoint.body !== undefined) {
    issues.push(refuse('in', 'must not be body, because the endpoint already defines its body'));
  }
  const isField = carrier === 'query' || (carrier === 'body' && endpoint.body !== input.name && !isJsonType(endpoint.content_type));
  const isPart = isPartOf(input, endpoint, placed);
  if (input.content_type !== undefined && !isPart)
    issues.push(refuse('content_type', 'must be left out, because the parameter is not part of a multipart form'));
  if (input.style === 'base64') {
    const isWhole = endpoint.body === input.name && !isJsonType(endpoint.content_type) && !isFormType(endpoint.content_type);
    if ((!isPart && !isWhole) || (input.type !== 'string' && !(isPart && input.type === 'array')))
      issues.push(refuse('style', 'may be base64 only for a string that is a body other than JSON, or part of a multipart form'));
  } else if (input.style !== undefined && !isField) {
    issues.push(refuse('style', 'must be left out, because the parameter is not in a query or form'));
  }
  return issues;
}

function checkUrl(url: string, inputs: readonly Parameter[], rules: EgressRules): string[] {
  if (!urlCharacters.test(url)) return ['must contain only characters that RFC 3986 allows; percent-encode the others'];
  const template = parseUrlTemplate(url);
  if (typeof template === 'string') return [template];
  return [...checkOrigin(template.origin, rules), ...checkPath(template), ...checkPlaceholders(template, inputs)];
}

function checkPath({ parts }: UrlTemplate): string[] {
  const written = parts.map((part) => (typeof part === 'string' ? part : part.operator === '' ? 'x' : '')).join('');
  if (written.includes('#')) return ['must not have a fragment'];
  const [path = ''] = written.split('?');
  // A path that a URL parser would change has dot segments in some spelling, which two readers could resolve differently.
  return new URL(`https://host.example${written}`).pathname !== (path || '/') ? ['must not contain . or .. segments in its path'] : [];
}

function checkPlaceholders(template: UrlTemplate, inputs: readonly Parameter[]): string[] {
  const known = new Map(inputs.map((input) => [input.name, input]));
  const names = [...placeholderNames(template)];
  if (!names.every((name) => known.has(name))) return ['must name an input parameter in each of its placeholders'];
  return names.some((name) => known.get(name)?.in === 'header') ? ['must not name a header field in its placeholders'] : [];
}
