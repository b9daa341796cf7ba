import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { allowIdle, closeStale, isStale } from '../aws/idle-connections.ts';
import { CallFailed } from './call-failure.ts';
import { decodeContent, type UnusableBody } from './content-coding.ts';
import { DialError } from './dial.ts';
import { type Target, targetOf } from './egress.ts';

export interface HttpRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | Buffer | undefined;
  until?: Until | undefined;
}

/** Given the head of an answer, returns what says of each piece of its body that the rest is not needed; undefined: all of it is read. */
export type Until = (headers: IncomingHttpHeaders) => ((piece: Buffer) => boolean) | undefined;

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** decoded; empty if unusable */
  body: Buffer;
  /** why the body cannot be used, although the head has arrived */
  unusable?: UnusableBody;
}

/** A request that has a connection but has not been sent. */
export interface ConnectedRequest {
  /** whether the connection has been used before; then it may break although the upstream is up */
  readonly isReused: boolean;
  /**
   * Sends the request and reads the answer, without resending or following redirects. Once the head of the answer has arrived, an answer is returned
   * even if its body fails.
   * @param signal - aborts the request and closes the connection
   * @throws CallFailed `lost` if the connection broke before anything was sent, `broken_answer`, or `answer_too_large` for the head
   */
  send(signal: AbortSignal): Promise<HttpAnswer>;
  drop(): void;
}

const maxHeaderBytes = 16 * 1024;

/** Longest idle time of a reused connection, in milliseconds; some common servers close idle connections after two seconds. */
const maxIdleMs = 1_500;

/** A connection is not reused this close to its announced closing, in milliseconds. */
const closingMarginMs = 1_000;

/**
 * Opens an HTTP/1.1 client that reuses connections.
 * @param openConnection - must return a TLS connection if the target is https
 * @param maxAnswerBytes - maximum size of an answer's body; headers have a separate limit
 */
export function openHttpClient(openConnection: (target: Target) => Promise<Socket>, maxAnswerBytes: number) {
  const agents = { http: openAgent('http:'), https: openAgent('https:') };

  function openAgent(protocol: string): Agent {
    // An agent skips closed connections only at the front of its list, so it must take connections from there.
    const agent = new Agent({ keepAlive: true, scheduling: 'fifo' });
    agent.createConnection = ({ host, port }, callback) => {
      openConnection({ protocol, hostname: String(host), port: Number(port) }).then(
        (socket) => callback?.(null, socket),
        (error) => callback?.(error, undefined as never),
      );
      return undefined;
    };
    return agent;
  }

  /**
   * Finds a connection for a request.
   * @param isNew - opens a new connection, and closes idle ones to the same host
   * @throws DialError if no connection can be opened
   */
  function connect({ method, url, headers, body, until }: HttpRequest, isNew = false): Promise<ConnectedRequest> {
    const { protocol, hostname: host, port } = targetOf(url);
    const agent = protocol === 'https:' ? agents.https : agents.http;
    closeStale(agent, isNew ? agent.getName({ host, port }) : undefined);
    const connected = Promise.withResolvers<ConnectedRequest>();
    const answered = Promise.withResolvers<HttpAnswer>();
    // the caller of send handles the rejection
    answered.promise.catch(() => {});
    let isSent = false;
    let head: Omit<HttpAnswer, 'body'> | undefined;
    // data that arrives before the request is sent is not an answer to it
    const giveUpBody = (unusable: UnusableBody) => isSent && head && answered.resolve({ ...head, body: Buffer.alloc(0), unusable });
    const fail = (error?: Error) => {
      giveUpBody('broken_answer');
      const failure = describeFailure(error, isSent);
      connected.reject(failure);
      answered.reject(failure);
    };
    let answer: IncomingMessage | undefined;
    const call = request({
      agent,
      method,
      host,
      port,
      path: url.pathname + url.search,
      // Node sets no Content-Length for the body of a GET or DELETE
      headers: { ...headers, host: url.host, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    })
      .on('response', (response) => {
        answer = response;
        const { socket, statusCode: status = 0, headers: answerHeaders } = response;
        head = { status, headers: answerHeaders };
        const chunks: Buffer[] = [];
        let bytes = 0;
        const isEnough = until?.(answerHeaders);
        response
          .on('data', (chunk: Buffer) => {
            bytes += chunk.length;
            if (bytes > maxAnswerBytes) giveUpBody('answer_too_large');
            else {
              chunks.push(chunk);
              if (!isEnough?.(chunk)) return;
              answered.resolve({ status, headers: answerHeaders, body: Buffer.concat(chunks, bytes) });
            }
            response.destroy();
          })
          .on('error', fail)
          .on('end', () => {
            allowIdle(socket, idleMs(String(answerHeaders['keep-alive'])));
            decodeContent(Buffer.concat(chunks, bytes), answerHeaders['content-encoding'], maxAnswerBytes).then(
              (content) =>
                Buffer.isBuffer(content) ? answered.resolve({ status, headers: answerHeaders, body: content }) : giveUpBody(content),
              fail,
            );
          });
      })
      // Bytes after a complete answer close the connection; the answer is valid.
      .on('error', (error) => answer?.complete || fail(error))
      .on('close', () => answer?.complete || fail());
    const drop = () => void call.destroy();
    call.once('socket', (socket) => {
      const failUnsent = () => {
        fail();
        drop();
      };
      socket.once('data', failUnsent);
      connected.resolve({
        isReused: call.reusedSocket,
        send: async (signal) => {
          if (signal.aborted) drop();
          signal.throwIfAborted();
          if (call.reusedSocket && isStale(socket)) failUnsent();
          socket.off('data', failUnsent);
          if (call.destroyed) return answered.promise;
          isSent = true;
          signal.addEventListener('abort', () => giveUpBody('deadline'), { once: true });
          addAbortSignal(signal, call);
          // Node writes nothing before end()
          call.end(body);
          return answered.promise;
        },
        drop,
      });
    });
    return connected.promise;
  }

  return {
    connect,
    /**
     * Connects and sends a request.
     * @throws CallFailed also if the body is unusable
     */
    send: async ({ signal, ...request }: HttpRequest & { signal: AbortSignal }): Promise<HttpAnswer> => {
      signal.throwIfAborted();
      const answer = await (await connect(request)).send(signal);
      if (answer.unusable !== undefined) throw new CallFailed(answer.unusable);
      return answer;
    },
    close: (): void => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Allowed idle time, in milliseconds: `Keep-Alive: timeout=<seconds>` announces when the upstream closes the connection. */
function idleMs(announced: string): number {
  const [, seconds] = /\btimeout=(\d+)/i.exec(announced) ?? [];
  return seconds === undefined ? maxIdleMs : Math.min(maxIdleMs, Number(seconds) * 1_000 - closingMarginMs);
}

/** Distinguishes failures before and after sending: once a request is sent, the upstream may have received it. */
function describeFailure(error: (Error & { code?: string }) | undefined, isSent: boolean): Error {
  if (error instanceof DialError) return error;
  if (error?.name === 'AbortError' && error.cause) return error.cause as Error;
  if (!isSent) return new CallFailed('lost', error);
  return new CallFailed(error?.code === 'HPE_HEADER_OVERFLOW' ? 'answer_too_large' : 'broken_answer', error);
}
