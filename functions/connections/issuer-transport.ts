import { type DialOptions, dial, resolveBySystem } from '../core/relay/dial.ts';
import { checkOrigin, withOwnHost } from '../core/relay/egress.ts';
import { openHttpClient } from '../core/relay/http-client.ts';
import { bounded } from '../core/runtime/invocation.ts';
import { IssuerFailure } from './issuer-failure.ts';

export interface TransportOptions extends Pick<DialOptions, 'rules'>, Partial<Pick<DialOptions, 'resolve' | 'trustedCertificate'>> {
  /** limit for one request, in milliseconds; default: 4 seconds */
  timeoutMs?: number;
}

const connectTimeoutMs = 2_000;

const maxBytes = 128 * 1_024;

const hasNoBody = [204, 205, 304];

/** The part of the standard `fetch` that oauth4webapi uses, for issuers. */
export type IssuerFetch = (
  url: string,
  options: { method: string; headers: Record<string, string>; body?: URLSearchParams | undefined },
) => Promise<Response>;

/**
 * Opens a `fetch` with the same protection as calls: checked addresses only, no redirects, every request over a new connection, so that it is known
 * whether it was sent.
 * @returns a function that throws IssuerFailure
 */
export function openTransport({ resolve = resolveBySystem, timeoutMs = 4_000, ...options }: TransportOptions) {
  const client = openHttpClient((target) => dial(target, { ...options, resolve, connectTimeoutMs }), maxBytes);
  return (baseUrl: string): IssuerFetch =>
    async (address, { method, headers, body }) => {
      const url = new URL(address);
      if (checkOrigin(url.origin, withOwnHost(options.rules, baseUrl)).length > 0)
        throw new IssuerFailure('unsent', { description: 'The issuer has an address that this gate does not call.' });
      let isSent = false;
      try {
        return await bounded(timeoutMs, async (signal) => {
          const fields = { ...headers, 'accept-encoding': 'identity', 'user-agent': 'intent-gate' };
          const connected = await client.connect({ method, url, headers: fields, body: body && String(body) }, true);
          isSent = true;
          const { status, body: content, headers: answered, unusable } = await connected.send(signal);
          if (unusable !== undefined) throw new TypeError('the body of the answer is unusable');
          const text = hasNoBody.includes(status) ? null : new Uint8Array(content);
          return new Response(text, { status, headers: { 'content-type': answered['content-type'] ?? '' } });
        });
      } catch (cause) {
        const description = isSent ? 'The issuer did not answer properly, or not in time.' : 'The issuer cannot be reached.';
        throw new IssuerFailure(isSent ? 'unknown' : 'unsent', { description, cause });
      }
    };
}
