import type { IncomingMessage } from 'node:http';
import { headerLines, hostsOf, originHost, readHost } from './guard.ts';

export interface Refused {
  /** type of the gateway response to answer with */
  type: string;
  status: number;
  message: string;
  reason?: string;
}

export type Admission = ReturnType<typeof openAdmission>;

/** The addresses of a gateway that listens on `host`, most readable first; `more` lists hosts, possibly with a port. */
export function addressesOf(host: string | undefined, port: number, more: readonly string[]): string[] {
  const addresses = [...namesOf(host), ...more].flatMap((name) => {
    const called = readHost(/:\d+$/.test(name) ? name : `${name}:${port}`);
    return called === undefined ? [] : `http://${called.host}`;
  });
  return [...new Set(addresses)];
}

/** The names under which a gateway is reached that listens on one of these addresses; any other address has only its own. */
const knownNames = new Map([
  ['localhost', ['localhost', '127.0.0.1']],
  ['127.0.0.1', ['127.0.0.1', 'localhost']],
  ['0.0.0.0', ['127.0.0.1', 'localhost']],
  ['::', ['127.0.0.1', 'localhost', '[::1]']],
  ['::1', ['[::1]', 'localhost']],
]);

const namesOf = (host = '127.0.0.1'): string[] => knownNames.get(host) ?? [host.includes(':') ? `[${host}]` : host];

const reads = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Admits only requests to one of these hosts, to prevent DNS rebinding; the port may differ, because it may be forwarded. Refuses requests with
 * side effects from pages of other origins.
 * @returns a check that returns the request's host and port, or the refusal
 */
export function openAdmission(addresses: readonly string[]) {
  const [first = ''] = addresses;
  const names = new Set(addresses.map((address) => readHost(new URL(address).host)?.name));

  return (request: IncomingMessage, allowedOrigins: readonly string[]): string | Refused => {
    if (headerLines(request, 'host').length !== 1) {
      return { type: 'DEFAULT_4XX', status: 400, message: `Send one Host header. For this stack it is ${new URL(first).host}.` };
    }
    const [called, ...others] = hostsOf(request).map((text) => readHost(text));
    if (called === undefined || ![called, ...others].every((host) => host && names.has(host.name))) {
      const message = `This stack does not serve that host. Call it at ${addresses.join(' or ')}, or restart it with: npm start -- --allow-host NAME`;
      return { type: 'DEFAULT_4XX', status: 421, message };
    }
    // MCP has its own origin check, which also covers reads
    if (reads.includes(request.method ?? '') || /^\/mcp(?:[/?]|$)/.test(request.url ?? '')) return called.host;
    const isAllowed = (origin: string) => originHost(origin) === called.host || allowedOrigins.includes(origin);
    if (allowedOrigins.includes('*') || headerLines(request, 'origin').every(isAllowed)) return called.host;
    const message = `Pages from other origins cannot change anything here. Open ${first}/console, or send the request from a program, without an Origin header.`;
    return { type: 'ACCESS_DENIED', status: 403, message, reason: 'origin' };
  };
}
