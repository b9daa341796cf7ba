import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { CallFailed } from './call-failure.ts';
import { DialError, type Target, targetOf } from './dial.ts';

export interface HttpRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | Buffer | undefined;
  /** ends the request, and the connection with it */
  signal: AbortSignal;
  /** asked once a connection is there: if it rejects, nothing is sent */
  confirm?: () => Promise<void>;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** HTTP/1.1 over connections that the caller opens, and that are reused. */
export interface HttpClient {
  /**
   * Sends one request and reads its answer. Nothing is sent twice, no redirect is followed.
   * @throws CallFailed `broken_answer`, `answer_too_large` or `encoded_answer`
   * @throws DialError if no connection is made, or it is lost before anything is sent; or what `confirm` rejects with
   */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

const maxHeaderBytes = 16 * 1024;

/** Longest time that a connection may have been idle when it is reused, in milliseconds. */
const maxIdleMs = 4_000;

/** How long before its announced closing an idle connection is no longer reused, in milliseconds. */
const closingMarginMs = 1_000;

/**
 * @param connect - opens a connection; it is TLS already if the target is https
 * @param maxAnswerBytes - maximum size of the body of an answer; its headers have a limit of their own
 */
export function openHttpClient(connect: (target: Target) => Promise<Socket>, maxAnswerBytes: number): HttpClient {
  /** when each idle connection may no longer be used, in milliseconds since the epoch */
  const staleAtMs = new WeakMap<Socket, number>();
  const agents = { http: openAgent('http:'), https: openAgent('https:') };

  function openAgent(protocol: string): Agent {
    // An agent skips closed connections only at the end it takes the next one from, and only if that is the front.
    const agent = new Agent({ keepAlive: true, scheduling: 'fifo' });
    agent.createConnection = ({ host, port }, callback) => {
      connect({ protocol, hostname: String(host), port: Number(port) }).then(
        (socket) => callback?.(null, socket),
        (error) => callback?.(error, undefined as never),
      );
      return undefined;
    };
    return agent;
  }

  /** By the clock, not by a timer: a timer stops while a Lambda environment is frozen, upstreams do not. */
  function closeStale(agent: Agent): void {
    const nowMs = Date.now();
    for (const sockets of Object.values(agent.freeSockets)) {
      for (const socket of sockets ?? []) if (nowMs >= (staleAtMs.get(socket) ?? 0)) socket.destroy();
    }
  }

  return {
    send: async ({ method, url, headers, body, signal, confirm }) => {
      signal.throwIfAborted();
      const { protocol, hostname: host, port } = targetOf(url);
      const agent = protocol === 'https:' ? agents.https : agents.http;
      closeStale(agent);
      return new Promise((resolve, reject) => {
        let isSent = false;
        const fail = (error?: Error) => reject(describeFailure(error, isSent));
        const giveUp = (error: unknown) => {
          reject(error);
          call.destroy();
        };
        let answer: IncomingMessage | undefined;
        const call = request({
          agent,
          method,
          host,
          port,
          path: url.pathname + url.search,
          // Node announces no length of its own for a body of GET or DELETE
          headers: { ...headers, host: url.host, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
          maxHeaderSize: maxHeaderBytes,
          insecureHTTPParser: false,
          signal,
        })
          .on('response', (response) => {
            // an answer to nothing that was asked
            if (!isSent) return giveUp(new DialError('unreachable'));
            answer = response;
            const { socket, statusCode: status = 0 } = response;
            const refuse = (reason: 'encoded_answer' | 'answer_too_large') => {
              response.destroy();
              reject(new CallFailed(reason));
            };
            if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') return refuse('encoded_answer');
            const chunks: Buffer[] = [];
            let bytes = 0;
            response
              .on('data', (chunk: Buffer) => {
                bytes += chunk.length;
                if (bytes > maxAnswerBytes) refuse('answer_too_large');
                else chunks.push(chunk);
              })
              .on('error', fail)
              .on('end', () => {
                staleAtMs.set(socket, Date.now() + idleMs(String(response.headers['keep-alive'])));
                resolve({ status, headers: response.headers, body: Buffer.concat(chunks, bytes) });
              });
          })
          // Bytes after a complete answer close the connection; the answer is valid.
          .on('error', (error) => answer?.complete || fail(error))
          .on('close', () => answer?.complete || fail());
        // nothing of a request is written before it ends
        const send = () => {
          isSent = true;
          call.end(body);
        };
        call.once('socket', () => (confirm ? confirm().then(send, giveUp) : send()));
      });
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** How long a connection may be idle: `Keep-Alive: timeout=<seconds>` announces when its upstream closes it. */
function idleMs(announced: string): number {
  const [, seconds] = /\btimeout=(\d+)/i.exec(announced) ?? [];
  return seconds === undefined ? maxIdleMs : Math.min(maxIdleMs, Number(seconds) * 1_000 - closingMarginMs);
}

/** For anything that breaks a connection: once it is sent, the upstream may have seen the request. */
function describeFailure(error: (Error & { code?: string }) | undefined, isSent: boolean): Error {
  if (error instanceof DialError) return error;
  if (!isSent) return new DialError('unreachable', error);
  return new CallFailed(error?.code === 'HPE_HEADER_OVERFLOW' ? 'answer_too_large' : 'broken_answer', error);
}
