import { foldQueryName } from '../../../schemas/credential.ts';
import type { CredentialValues } from '../credentials/credentials.ts';
import { isLoopbackHost } from './egress.ts';
import { isFormType } from './endpoint.ts';
import { encode } from './fields.ts';
import type { UpstreamCall, UpstreamRequest } from './request.ts';

/** Whether calls at an origin carry the service's credential: only at allowed origins, and only over https or within this machine. */
export const carriesCredential = (service: UpstreamCall['service'], origin: string): boolean =>
  (origin.startsWith('https:') || isLoopbackHost(new URL(origin).hostname)) &&
  service.credential !== undefined &&
  service.credential.origins.includes(origin);

/**
 * Puts the query parameters of a credential into a request. Whatever a server could take for one of them is removed from the query, and from the
 * body if that is a form, since some servers read both as one.
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

/** No part contains the boundary, so a body can be split at it. */
function withoutParts(body: Buffer, boundary: string, names: ReadonlySet<string>): Buffer {
  const delimiter = `--${boundary}`;
  // one character for each byte, so that files stay what they are
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

/** Some servers read `key[]` and `key.x` as parts of `key`, and `ke y` and `ke.y` as `ke_y`. */
export const isReadAs = (name: string, names: ReadonlySet<string>): boolean =>
  [name, name.replace(/[[.\0].*$/s, ''), name.replaceAll('[', '_')].some((reading) => names.has(foldQueryName(reading)));
