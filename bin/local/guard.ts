import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { listen } from './http.ts';

/** A host name or IP address, possibly with a port. */
const authority = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/**
 * The host of an authority (RFC 3986 section 3.2) in canonical spelling: lower case, IP addresses as in URLs, no trailing dot, no default port.
 * Undefined if the text is not a host.
 */
export function readHost(text: string, scheme = 'http'): { host: string; name: string; port: string } | undefined {
  const url = authority.test(text) ? URL.parse(`${scheme}://${text}`) : null;
  if (!url) return undefined;
  const { port } = url;
  const name = url.hostname.replace(/\.$/, '');
  return { host: port === '' ? name : `${name}:${port}`, name, port };
}

/** The hosts of a request: that of an absolute target first (RFC 9112 section 3.2.2), then those in `Host`. */
export function hostsOf(request: IncomingMessage): string[] {
  const [, target] = /^https?:\/\/([^/?#]*)/i.exec(request.url ?? '') ?? [];
  return [...(target === undefined ? [] : [target]), ...headerLines(request, 'host')];
}

/** All values of a header as sent, because Node keeps only one of several. */
export const headerLines = ({ rawHeaders }: IncomingMessage, name: string): string[] =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);

/** The host of a page's origin, spelt as by {@link readHost}; undefined unless it is an http or https origin. */
export function originHost(origin: string): string | undefined {
  const [, scheme, host = ''] = /^(https?):\/\/(.*)$/i.exec(origin) ?? [];
  return scheme === undefined ? undefined : readHost(host, scheme)?.host;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Admits only requests from programs of this stack: the path begins with a random key, which is removed, the host is this machine, and the sender is not
 * a page. Pages of other origins do not know the key, and get no response to preflight requests.
 * @returns the key as a path
 */
function requireKey(server: Server): string {
  const key = `/${randomBytes(24).toString('base64url')}`;
  const expected = digest(key);
  const answer = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const [, given = '', rest = ''] = /^(\/[^/?]*)(.*)$/s.exec(request.url ?? '') ?? [];
    if (timingSafeEqual(digest(given), expected) && isFromProgram(request)) {
      request.url = rest.startsWith('/') ? rest : `/${rest}`;
      for (const listener of answer) listener.call(server, request, response);
      return;
    }
    // The rest of the request is not read.
    response.writeHead(403, { 'Content-Type': 'application/json', Connection: 'close' }).end(JSON.stringify(accessDenied));
  });
  return key;
}

const accessDenied = {
  __type: 'AccessDeniedException',
  message: 'Only the local stack that started this service can call it. Its address, with the key for this run, is in .local/stack.json.',
};

/** Whether the host of a request is 127.0.0.1, as in addresses from {@link listenForStack}. */
export const isCalledHere = (request: IncomingMessage): boolean => hostsOf(request).every((host) => readHost(host)?.name === '127.0.0.1');

/** Whether a program sent a request, not a page: browsers add `Origin` to every request with side effects. */
export const isFromProgram = (request: IncomingMessage): boolean => isCalledHere(request) && request.headers.origin === undefined;

/** Listens on loopback for programs that know the key. @returns the address, including the key */
export async function listenForStack(server: Server): Promise<string> {
  const key = requireKey(server);
  return `http://127.0.0.1:${await listen(server)}${key}`;
}
