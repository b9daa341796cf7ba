import { foldQueryName } from '../../../schemas/credential.ts';
import type { CredentialValues } from '../credentials/credentials.ts';
import { isLoopbackHost } from './egress.ts';
import { isFormType } from './endpoint.ts';
import { encode } from './fields.ts';
import type { UpstreamCall, UpstreamRequest } from './request.ts';

/** Whether calls to an origin carry the service's credential: only to allowed origins, over https or to loopback. */
export const carriesCredential = (service: UpstreamCall['service'], origin: string): boolean =>
  (origin.startsWith('https:') || isLoopbackHost(new URL(origin).hostname)) &&
  service.credential !== undefined &&
  service.credential.origins.includes(origin);

/**
 * Adds the query parameters of a credential to a request. Parameters that a server could mistake for them are removed from the query, and from a
 * form body, because some servers merge the two.
 */
export function withCredentialQuery(request: UpstreamRequest, { query }: Pick<CredentialValues, 'query'>): UpstreamRequest {
  const names = new Set(Object.keys(query).map(foldQueryName));
  if (names.size === 0) return request;
  const [address = '', ...rest] = request.url.split('?');
  const own = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const { body, contentType = '' } = request;
  const [, boundary] = /^multipart\/form-data; boundary=(.+)$/i.exec(contentType) ?? [];
  return {
    ...request,
    url: `${address}?${[...without(rest.join('?'), names), ...own].join('&')}`,
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
