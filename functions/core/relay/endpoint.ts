import type { Issue } from '../../../schemas/errors.ts';
import type { IntentEndpoint } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { checkOrigin, type EgressRules } from './egress.ts';
import { parseUrlTemplate, placesOf, type UrlTemplate } from './url-template.ts';

/** The characters that RFC 3986 allows in a URL, and the braces of places. */
const urlCharacters = /^(?:[\w\-.~:/?#[\]@!$&'()*+,;={}]|%[0-9a-f]{2})*$/i;

/** The media types in which parameters can be sent. */
export const isJsonType = (contentType: string): boolean => /^application\/(?:[a-z0-9.-]+\+)?json$/i.test(contentType);
export const isFormType = (contentType: string): boolean => /^application\/x-www-form-urlencoded$/i.test(contentType);

/** GET and DELETE carry parameters in the query, the others in the body. */
export const hasBody = (method: IntentEndpoint['method']): boolean => method !== 'GET' && method !== 'DELETE';

/** What is wrong with an endpoint, for registration: its URL template, where it leads, and its content type. */
export function checkEndpoint(endpoint: IntentEndpoint, inputs: readonly Parameter[], rules: EgressRules): Issue[] {
  const issues = checkUrl(endpoint.url, inputs, rules).map((problem) => ({ path: '/endpoint/url', problem }));
  if (hasBody(endpoint.method) && !isJsonType(endpoint.content_type) && !isFormType(endpoint.content_type)) {
    const problem = 'must be application/json, another JSON type ending in +json, or application/x-www-form-urlencoded';
    issues.push({ path: '/endpoint/content_type', problem });
  }
  return issues;
}

function checkUrl(url: string, inputs: readonly Parameter[], rules: EgressRules): string[] {
  if (!urlCharacters.test(url)) return ['must hold only characters that RFC 3986 allows; percent-encode the others'];
  const template = parseUrlTemplate(url);
  if (typeof template === 'string') return [template];
  return [...checkOrigin(template.origin, rules), ...checkPath(template), ...checkPlaces(template, inputs)];
}

function checkPath({ parts }: UrlTemplate): string[] {
  const written = parts.map((part) => (typeof part === 'string' ? part : part.operator === '' ? 'x' : '')).join('');
  if (written.includes('#')) return ['must not have a fragment'];
  const [path = ''] = written.split('?');
  // If a URL parser would change the path, two readers could read it differently: dot segments in any spelling.
  return new URL(`https://host.example${written}`).pathname !== (path || '/') ? ['must not hold . or .. segments in its path'] : [];
}

function checkPlaces(template: UrlTemplate, inputs: readonly Parameter[]): string[] {
  const known = new Map(inputs.map((input) => [input.name, input]));
  const names = placesOf(template).flatMap((place) => place.names);
  if (!names.every((name) => known.has(name))) return ['must name an input parameter in each of its places'];
  return names.some((name) => known.get(name)?.in === 'header') ? ['must not name a header field in its places'] : [];
}
