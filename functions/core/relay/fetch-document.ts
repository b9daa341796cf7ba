import { type JsonValue, parseJson } from '../json/json.ts';
import { bounded } from '../runtime/invocation.ts';
import { CallFailed } from './call-failure.ts';
import { type DialFailure, type DialOptions, dial, resolveBySystem } from './dial.ts';
import { checkOrigin, withOwnHost } from './egress.ts';
import { isJsonType } from './endpoint.ts';
import { type HttpAnswer, openHttpClient } from './http-client.ts';
import { essenceOf } from './media-type.ts';

export interface DocumentOptions extends Pick<DialOptions, 'rules'>, Partial<Pick<DialOptions, 'resolve' | 'trustedCertificate'>> {
  maxBytes: number;
  /** limit for the whole request, in milliseconds */
  timeoutMs: number;
}

const connectTimeoutMs = 3_000;

/** Why nothing is read at an address, in words. */
export const complaints: Record<DialFailure, string> = {
  no_address: 'its host has no address',
  refused_address: 'its host has an address that may not be called, such as a private one',
  unreachable: 'it cannot be reached',
  tls_failed: 'its certificate is not valid for its name',
};

/**
 * Opens a client that gets files at untrusted addresses, with the same protection as calls: checked addresses only, no redirects. Sends nothing that
 * identifies the caller.
 * @returns a function that resolves with an answer of any status, and throws CallFailed, or an error that `describeCallError` maps to one, without one
 */
export function openFileClient({ maxBytes, timeoutMs, resolve = resolveBySystem, ...options }: DocumentOptions) {
  const client = openHttpClient((target) => dial(target, { ...options, resolve, connectTimeoutMs }), maxBytes);
  return async (url: URL, baseUrl: string, accept: string): Promise<HttpAnswer> => {
    if (checkOrigin(url.origin, withOwnHost(options.rules, baseUrl)).length > 0) throw new CallFailed('refused_address');
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'intent-gate' };
    return bounded(timeoutMs, (signal) => client.send({ method: 'GET', url, headers, signal }));
  };
}

/**
 * Opens a reader of JSON documents at untrusted addresses.
 * @returns a reader that throws if the document cannot be read
 */
export function openDocumentReader(options: DocumentOptions) {
  const get = openFileClient(options);
  return async (url: URL, baseUrl: string): Promise<JsonValue> => {
    const answer = await get(url, baseUrl, 'application/json');
    if (answer.status !== 200) throw new TypeError('the answer is not 200');
    if (!isJsonType(essenceOf(answer.headers['content-type']) ?? '')) throw new TypeError('the answer is not JSON');
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(answer.body));
  };
}

export type ReadDocument = ReturnType<typeof openDocumentReader>;
