import { foldQueryName } from '../../../schemas/credential.ts';
import type { CredentialInput } from '../../../schemas/credential-input.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { foldHeaderName } from '../../../schemas/header.ts';
import type { Credential, CredentialValues } from '../credentials/credentials.ts';
import { pointer } from '../json/json.ts';
import { invalidParameter } from '../runtime/api-error.ts';
import type { UpstreamCall, UpstreamRequest } from './build-request.ts';
import { checkOrigin, type EgressRules, isLoopbackHost, withOwnHost } from './egress.ts';
import { isFormType } from './endpoint.ts';
import { encode } from './fields.ts';

/** Whether calls to an origin carry the service's credential: only to allowed origins, over https or to loopback. */
export const carriesCredential = (service: UpstreamCall['service'], origin: string): boolean =>
  (origin.startsWith('https:') || isLoopbackHost(new URL(origin).hostname)) &&
  service.credential !== undefined &&
  service.credential.origins.includes(origin);

/**
 * Adds the query parameters of a credential's current or next values to a request. What a server could mistake for a value of either is removed from
 * the header fields, the query, and a form body, because some servers merge these two.
 */
export function withCredential(request: UpstreamRequest, { query }: CredentialValues, credential: Credential): UpstreamRequest {
  const { headers: fields, query: parameters, next } = credential;
  const fieldNames = new Set(Object.keys({ ...fields, ...next?.headers }).map(foldHeaderName));
  const headers = Object.fromEntries(Object.entries(request.headers ?? {}).filter(([name]) => !fieldNames.has(foldHeaderName(name))));
  const names = new Set(Object.keys({ ...parameters, ...next?.query }).map(foldQueryName));
  if (names.size === 0) return { ...request, headers };
  const [address = '', ...rest] = request.url.split('?');
  const own = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const { body, contentType = '' } = request;
  const [, boundary] = /^multipart\/form-data; boundary=(.+)$/i.exec(contentType) ?? [];
  return {
    ...request,
    headers,
    url: [address, [...without(rest.join('?'), names), ...own].join('&')].filter(Boolean).join('?'),
    ...(typeof body === 'string' && isFormType(contentType) && { body: without(body, names).join('&') }),
    ...(Buffer.isBuffer(body) && boundary !== undefined && { body: withoutParts(body, boundary, names) }),
  };
}

/** Removes parts of a multipart body by name. No part contains the boundary, so the body can be split at it. */
function withoutParts(body: Buffer, boundary: string, names: ReadonlySet<string>): Buffer {
  const delimiter = `--${boundary}`;
  // latin1 maps each byte to one character, so files survive unchanged
  const parts = body
    .toString('latin1')
    .split(delimiter)
    .filter((part) => {
      const [, name] = /^\r\nContent-Disposition: form-data; name="([^"]*)"/.exec(part) ?? [];
      return name === undefined || !isReadAs(Buffer.from(name, 'latin1').toString(), names);
    });
  return Buffer.from(parts.join(delimiter), 'latin1');
}

const without = (form: string, names: ReadonlySet<string>): string[] =>
  form.split('&').filter((pair) => pair !== '' && ![...new URLSearchParams(pair).keys()].some((name) => isReadAs(name, names)));

/** Some servers read `key[]` and `key.x` as parts of `key`, `[key]` and `!key` as `key`, and `ke y` and `ke.y` as `ke_y`. */
export const isReadAs = (name: string, names: ReadonlySet<string>): boolean =>
  [name, name.replace(/[[.\0].*$/s, ''), name.replace(/^[\s[\].!]+|[[\].\0].*$/gs, ''), name.replaceAll('[', '_')].some((reading) =>
    names.has(foldQueryName(reading)),
  );

const checkOrigins = (origins: readonly string[], rules: EgressRules, baseUrl: string): Issue[] =>
  origins.flatMap((origin, index) => {
    const path = pointer(['origins', index]);
    const isLocal = rules.allowLoopback && isLoopbackHost(URL.parse(origin)?.hostname ?? '');
    if (!(isLocal ? /^https?:\/\//i : /^https:\/\//i).test(origin)) return [{ path, problem: 'must begin with https://' }];
    if (/^https?:\/\/[^/]*[/?#\\]/i.test(origin)) return [{ path, problem: 'must end with its host or port, without a path' }];
    return checkOrigin(origin, withOwnHost(rules, baseUrl)).map((problem) => ({ path, problem }));
  });

/** Checks a credential before it is stored. @throws ApiError INVALID_PARAMETER */
export type CredentialCheck = (input: CredentialInput, rules: EgressRules, baseUrl: string) => void;

/**
 * Origins to which a new credential may be sent: those given, else the origin of the service's address.
 * @throws ApiError INVALID_PARAMETER if an origin may not be called over https; the local stage also allows loopback
 */
export function chooseOrigins(
  given: readonly string[] | undefined,
  service: { service_url: string },
  rules: EgressRules,
  baseUrl: string,
): string[] {
  if (given !== undefined) {
    const issues = checkOrigins(given, rules, baseUrl);
    if (issues.length > 0) throw invalidParameter(issues);
    return [...new Set(given.map((origin) => new URL(origin).origin))];
  }
  const origins = [new URL(service.service_url).origin];
  if (checkOrigins(origins, rules, baseUrl).length === 0) return origins;
  const problem = 'is required, because the service_url of this service cannot be called over https';
  throw invalidParameter([{ path: '/origins', problem }]);
}
