import { type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Readable } from 'node:stream';
import { type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { closeStale, openAwsAgents } from './idle-connections.ts';
import { currentSignal } from './invocation.ts';

const connectTimeoutMs = 500;

/** Maximum number of concurrent requests per client; further ones wait, as with the SDK's own handler. */
const maxSockets = 50;

/** An error named as the SDK's retry strategy expects: it retries time-outs, but not aborts. */
const failure = (name: 'AbortError' | 'TimeoutError', message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { name });

const aborted = (reason: unknown): Error => failure('AbortError', 'the step that the request is part of has ended', reason);

/** Converts a body to text, which Node sends in one packet with the header. */
const readText = (body: unknown): unknown =>
  body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString() : body;

type Agents = ReturnType<typeof openAwsAgents>;

/** Starts a request on a fresh connection or one that is not stale. */
function begin(
  { protocol, hostname, port, method, path, headers }: HttpRequest,
  { plain, tls }: Agents,
  fail: (error: Error) => void,
): ClientRequest {
  const [request, agent] = protocol === 'https:' ? [requestTls, tls] : [requestPlain, plain];
  closeStale(agent);
  return request({ agent, host: hostname.replace(/^\[|\]$/g, ''), port, method, path, headers })
    .on('socket', (socket) => {
      if (!socket.connecting) return;
      const connectTimer = setTimeout(() => fail(failure('TimeoutError', 'no connection in time')), connectTimeoutMs);
      const stop = () => clearTimeout(connectTimer);
      socket.once('connect', stop).once('close', stop);
    })
    .on('error', fail);
}

/**
 * Sends requests with JSON bodies and responses. Each fails after `requestTimeoutMs` or when its step ends (see {@link ./invocation.ts}). The SDK's
 * own handler is made for streams: it sets more timers and sends a text in two packets.
 */
export const jsonHttpHandler = (requestTimeoutMs: number) => {
  const agents = openAwsAgents({ maxSockets });

  const handle = (request: HttpRequest): Promise<{ response: HttpResponse }> =>
    new Promise((resolve, reject) => {
      const signal = currentSignal();
      if (signal?.aborted) return reject(aborted(signal.reason));
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const fail = (error: Error) => {
        stopWaiting();
        reject(error);
        sent.destroy();
      };
      const sent = begin(request, agents, fail);
      const abort = () => fail(aborted(signal?.reason));
      const timer = setTimeout(() => fail(failure('TimeoutError', 'no answer in time')), requestTimeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      sent
        .on('response', (response) => {
          const chunks: Buffer[] = [];
          response
            .on('data', (chunk: Buffer) => chunks.push(chunk))
            .on('error', fail)
            .on('end', () => {
              stopWaiting();
              const { statusCode = 0, headers } = response;
              resolve({
                response: new HttpResponse({ statusCode, headers: headers as Record<string, string>, body: Buffer.concat(chunks) }),
              });
            });
        })
        .end(readText(request.body));
    });

  return { handle };
};

/**
 * Returns a function that sends requests with streamed bodies and responses. A request fails once its connection has been silent for `silenceMs`, or
 * when its step ends.
 */
export const openStreams = (silenceMs: number) => {
  const agents = openAwsAgents();

  return (request: HttpRequest, body?: Readable): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const signal = currentSignal();
      if (signal?.aborted) return reject(aborted(signal.reason));
      const fail = (error: Error) => {
        reject(error);
        sent.destroy(error);
      };
      const sent = begin(request, agents, fail);
      const abort = () => fail(aborted(signal?.reason));
      signal?.addEventListener('abort', abort, { once: true });
      sent
        .setTimeout(silenceMs, () => fail(failure('TimeoutError', 'the connection was silent for too long')))
        .on('close', () => {
          signal?.removeEventListener('abort', abort);
          body?.destroy();
        })
        .on('response', resolve);
      if (body) body.on('error', fail).pipe(sent);
      else sent.end();
    });
};

export const awsClientSettings = ({ requestTimeout }: { requestTimeout: number }) => ({
  maxAttempts: 3,
  requestHandler: jsonHttpHandler(requestTimeout),
});
