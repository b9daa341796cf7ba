import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** @returns the port @throws Node's error, such as EADDRINUSE */
export async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  await once(server.listen(port, host), 'listening');
  return (server.address() as AddressInfo).port;
}

export const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** The target of a request (RFC 9112 section 3.2); `/*` if it has no path. */
export function targetOf({ url = '/' }: IncomingMessage): URL {
  // a leading double slash is part of the path, not a host
  return URL.parse(url.startsWith('/') ? `http://host${url}` : url) ?? new URL('http://host/*');
}

/** The whole body; undefined if it is longer than `maxBytes`, in which case the rest is discarded. */
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
