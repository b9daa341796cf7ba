import { type JsonValue, parseJson } from '../json/json.ts';
import { bounded } from '../runtime/invocation.ts';
import { type DialOptions, dial, resolveBySystem } from './dial.ts';
import { checkOrigin, withOwnHost } from './egress.ts';
import { isJsonType } from './endpoint.ts';
import { openHttpClient } from './http-client.ts';
import { essenceOf } from './media-type.ts';

export interface DocumentOptions extends Pick<DialOptions, 'rules'>, Partial<Pick<DialOptions, 'resolve' | 'trustedCertificate'>> {
  maxBytes: number;
  /** limit for the whole request, in milliseconds */
  timeoutMs: number;
}

const connectTimeoutMs = 3_000;

/**
 * Opens a reader of JSON documents at untrusted addresses, with the same protection as calls: checked addresses only, no redirects. Sends
 * nothing that identifies the caller.
 * @returns a reader that throws if the document cannot be read
 */
export function openDocumentReader({ maxBytes, timeoutMs, resolve = resolveBySystem, ...options }: DocumentOptions) {
  const client = openHttpClient((target) => dial(target, { ...options, resolve, connectTimeoutMs }), maxBytes);
  return async (url: URL, baseUrl: string): Promise<JsonValue> => {
    if (checkOrigin(url.origin, withOwnHost(options.rules, baseUrl)).length > 0) throw new TypeError('the address may not be called');
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'intent-gate' };
    const answer = await bounded(timeoutMs, (signal) => client.send({ method: 'GET', url, headers, signal }));
    if (answer.status !== 200) throw new TypeError('the answer is not 200');
    if (!isJsonType(essenceOf(answer.headers['content-type']) ?? '')) throw new TypeError('the answer is not JSON');
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(answer.body));
  };
}

export type ReadDocument = ReturnType<typeof openDocumentReader>;
