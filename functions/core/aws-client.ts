import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { Agent, request as requestPlain } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { currentSignal } from './invocation.ts';

/** Longest wait for a connection, in milliseconds. */
const connectTimeoutMs = 500;

/** How many requests a client has in flight at most; more wait, as with the SDK's own handler. */
const maxSockets = 50;

/** An error by a name that the SDK's retries know: they repeat what timed out, and nothing that was aborted. */
const failure = (name: 'AbortError' | 'TimeoutError', message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { name });

const aborted = (signal: AbortSignal | undefined): Error =>
  failure('AbortError', 'the step that the request is part of has ended', signal?.reason);

/** As text, which Node sends together with the header, in one packet. */
const readText = (body: unknown): unknown =>
  body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString() : body;

/**
 * Sends requests whose bodies and answers are JSON texts, each until `requestTimeoutMs` or the end of the step that it belongs to
 * (see {@link ./invocation.ts}). The SDK's own handler is made for streams: it sets more timers, and sends a text in two parts.
 */
export const jsonHttpHandler = (requestTimeoutMs: number) => {
  const plain = new Agent({ keepAlive: true, maxSockets });
  const tls = new TlsAgent({ keepAlive: true, maxSockets });

  const handle = ({ protocol, hostname, port, method, path, headers, body }: HttpRequest): Promise<{ response: HttpResponse }> =>
    new Promise((resolve, reject) => {
      const signal = currentSignal();
      if (signal?.aborted) return reject(aborted(signal));
      const [request, agent] = protocol === 'https:' ? [requestTls, tls] : [requestPlain, plain];
      const sent = request({ agent, host: hostname.replace(/^\[|\]$/g, ''), port, method, path, headers });
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const fail = (error: Error) => {
        settle();
        reject(error);
        sent.destroy();
      };
      const abort = () => fail(aborted(signal));
      const timer = setTimeout(() => fail(failure('TimeoutError', 'no answer in time')), requestTimeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      sent
        .on('socket', (socket) => {
          if (!socket.connecting) return;
          const connectTimer = setTimeout(() => fail(failure('TimeoutError', 'no connection in time')), connectTimeoutMs);
          const stop = () => clearTimeout(connectTimer);
          socket.once('connect', stop).once('close', stop);
        })
        .on('response', (response) => {
          const chunks: Buffer[] = [];
          response
            .on('data', (chunk: Buffer) => chunks.push(chunk))
            .on('error', fail)
            .on('end', () => {
              settle();
              const { statusCode = 0, headers } = response;
              resolve({
                response: new HttpResponse({ statusCode, headers: headers as Record<string, string>, body: Buffer.concat(chunks) }),
              });
            });
        })
        .on('error', fail)
        .end(readText(body));
    });

  return { handle };
};

/** The SDK keeps the bytes of a day's signing key, and Node is slow to take a key in bytes. */
const keyObjects = new WeakMap<object, KeyObject>();

function keyObjectOf(secret: ArrayBuffer | ArrayBufferView): KeyObject {
  const key = keyObjects.get(secret) ?? createSecretKey(Buffer.from(secret as Uint8Array));
  keyObjects.set(secret, key);
  return key;
}

/** SHA-256, or with a secret HMAC-SHA-256, for the signatures of requests; in bundles it takes the place of the SDK's own. */
export class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash =
      secret === undefined ? createHash('sha256') : createHmac('sha256', typeof secret === 'string' ? secret : keyObjectOf(secret));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

/** What all AWS clients are configured with: bounded waits, and three attempts. */
export const awsClientSettings = ({ requestTimeout }: { requestTimeout: number }) => ({
  maxAttempts: 3,
  requestHandler: jsonHttpHandler(requestTimeout),
  sha256: Sha256,
});
