import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens, and says at which port. Rejects with Node's error (EADDRINUSE and so on). */
export async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  await once(server.listen(port, host), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Ends a server with all its connections. */
export const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** What a request asks for (RFC 9112 section 3.2); the path of a target that has none is `/*`. */
export function targetOf({ url = '/' }: IncomingMessage): URL {
  // a path that begins with two slashes names no host
  return URL.parse(url.startsWith('/') ? `http://host${url}` : url) ?? new URL('http://host/*');
}

/** The whole body, or undefined if it is longer than `maxBytes`; the rest is then read and discarded. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const hasNone = request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined;
  if (hasNone) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes <= maxBytes ? Buffer.concat(chunks) : undefined;
}
