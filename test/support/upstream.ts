import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Upstream {
  port: number;
  /** connections that were accepted */
  connections: number;
  /** number of connections that are open now */
  open(): number;
  /** Closes every connection. */
  dropAll(): void;
  stop(): Promise<void>;
}

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

async function listen(server: Server): Promise<Upstream> {
  const sockets = new Set<Socket>();
  const upstream: Upstream = {
    port: 0,
    connections: 0,
    open: () => sockets.size,
    dropAll: () => {
      for (const socket of sockets) socket.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        upstream.dropAll();
        server.close(() => resolve());
      }),
  };
  server.on('connection', (socket: Socket) => {
    upstream.connections++;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstream.port = (server.address() as AddressInfo).port;
  return upstream;
}

/** A server on loopback that sends over TCP whatever `answer` returns, once the head of a request has arrived. */
export const startRawUpstream = (answer: (socket: Socket) => void): Promise<Upstream> =>
  listen(createServer((socket) => socket.once('data', () => answer(socket))));

/** A real HTTP (or, with a certificate, HTTPS) server on loopback that records its requests. */
export async function startUpstream(
  answer: (request: SeenRequest, response: ServerResponse) => void,
  tls?: { cert: string; key: string },
): Promise<Upstream & { seen: SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = request;
    const entry = { method, url, headers, body: await text(request) };
    seen.push(entry);
    answer(entry, response);
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => void handle(request, response);
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  return Object.assign(await listen(server), { seen });
}

/** Counts every client socket that is opened in this process, to prove that nothing was connected to. */
export function watchSockets(): { opened: () => number; stop: () => void } {
  let count = 0;
  const onSocket = () => {
    count++;
  };
  subscribe('net.client.socket', onSocket);
  return { opened: () => count, stop: () => unsubscribe('net.client.socket', onSocket) };
}
