import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import { fromEnv } from '@aws-sdk/credential-provider-env';

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export type FindCredentials = () => Promise<Credentials>;

/** A request to sign: the path as sent, header names in lower case. */
export interface Signable {
  method: string;
  path: string;
  query?: URLSearchParams;
  headers: Record<string, string>;
  body: string | Uint8Array;
}

export interface SigningScope {
  service: string;
  region: string;
  time?: Date;
  isSigned?: (name: string) => boolean;
}

export const sha256 = (text: string | Uint8Array): string => hash('sha256', text);
const hmac = (key: Parameters<typeof createHmac>[1], text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Percent-encodes all but RFC 3986's unreserved characters. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

const canonicalQuery = (query: Iterable<[string, string]> = []): string =>
  [...query]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');

/** All services except S3 require the path to be encoded once more. */
const canonicalPath = (path: string, service: string): string =>
  service === 's3' ? path : path.split('/').map(encodeURIComponent).join('/');

/**
 * Signs with Signature Version 4. The key for a day, region and service is derived once.
 * @param credentials - default: read from the function's environment
 * @returns a function that returns a request's headers, including those of its signature
 */
export function openSignature(credentials: Credentials | FindCredentials = fromEnv()) {
  const findCredentials = typeof credentials === 'object' ? async () => credentials : credentials;
  let derived: { secretAccessKey: string; scope: string; key: KeyObject } | undefined;

  function keyFor(secretAccessKey: string, scope: string): KeyObject {
    if (derived?.scope === scope && derived.secretAccessKey === secretAccessKey) return derived.key;
    const key = createSecretKey(scope.split('/').reduce<Buffer | string>(hmac, `AWS4${secretAccessKey}`) as Buffer);
    derived = { secretAccessKey, scope, key };
    return key;
  }

  return async (
    { method, path, query, headers: given, body }: Signable,
    { service, region, time = new Date(), isSigned = () => true }: SigningScope,
  ): Promise<Record<string, string>> => {
    const { accessKeyId, secretAccessKey, sessionToken } = await findCredentials();
    const date = time.toISOString().replace(/[-:]|\.\d+/g, '');
    const headers: Record<string, string> = { ...given, 'x-amz-date': date };
    if (sessionToken !== undefined) headers['x-amz-security-token'] = sessionToken;
    const names = Object.keys(headers).filter(isSigned).sort();
    const lines = names.map((name) => `${name}:${headers[name]}\n`).join('');
    const digest = headers['x-amz-content-sha256'] ?? sha256(body);
    const target = `${canonicalPath(path, service)}\n${canonicalQuery(query)}`;
    const canonical = `${method}\n${target}\n${lines}\n${names.join(';')}\n${digest}`;
    const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
    const signature = hmac(keyFor(secretAccessKey, scope), `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`).toString('hex');
    headers.authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
    return headers;
  };
}

interface ClientConfig {
  credentials: FindCredentials;
  region: () => Promise<string>;
}

/** Signs requests of an SDK client. Their queries are empty, and only the headers that AWS requires are signed. */
export function openSigner(service: string, { credentials, region }: ClientConfig) {
  const sign = openSignature(credentials);
  const isSigned = (name: string) => name === 'host' || name.startsWith('x-amz-');
  return {
    // The SDK passes region and service only for some endpoints, so they are ignored.
    sign: async <T extends Omit<Signable, 'query' | 'body'> & { body?: string | Uint8Array }>(
      request: T,
      { signingDate = new Date() }: { signingDate?: Date | number | string } = {},
    ): Promise<T> => {
      const { method, path, headers, body = '' } = request;
      const scope = { service, region: await region(), time: new Date(signingDate), isSigned };
      return Object.assign(request, { headers: await sign({ method, path, headers, body }, scope) });
    },
  };
}
