import type { ServerResponse } from 'node:http';
import { type SeenRequest, startUpstream } from '../upstream.ts';

interface Rpc {
  id?: number;
  method?: string;
  params: { name: string; arguments?: unknown; cursor?: string };
}

export interface McpServer {
  /** how the server speaks: 2026-07-28, or 2025-11-25 with or without sessions */
  kind: 'modern' | 'sessions' | 'stateless';
  /** answers a call of a tool; default: its arguments, structured */
  call?: (rpc: Rpc, response: ServerResponse, seen: SeenRequest) => void;
  /** may answer any request in place of the server */
  before?: ((rpc: Rpc, response: ServerResponse, seen: SeenRequest) => void) | undefined;
  tools?: object[];
  /** tools on a page; default: all */
  pageSize?: number;
}

export const json = (response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void =>
  void response
    .writeHead(status, { 'Content-Type': 'application/json', ...headers })
    .end(typeof value === 'string' ? value : JSON.stringify(value));

/** Writes messages as events, and ends the stream. */
export function stream(response: ServerResponse, messages: readonly unknown[], isEnded = true): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const message of messages) response.write(`event: message\r\nid: 1\r\ndata: ${JSON.stringify(message)}\r\n\r\n`);
  if (isEnded) response.end();
}

export const resultOf = ({ id }: Rpc, result: object) => ({ jsonrpc: '2.0', id, result });

/** An MCP server on loopback, which checks what it gets as the specification demands. */
export async function startMcpServer(server: McpServer) {
  const sessions = new Set<string>();
  let count = 0;
  const upstream = await startUpstream((seen, response) => {
    const { headers, method } = seen;
    if (method !== 'POST') return json(response, '', 405);
    const rpc: Rpc = JSON.parse(seen.body);
    server.before?.(rpc, response, seen);
    if (response.headersSent || response.destroyed) return;
    const fail = (status: number, code: number, message: string, data?: object) =>
      json(response, { jsonrpc: '2.0', id: null, error: { code, message, ...(data && { data }) } }, status);
    if (server.kind === 'modern') {
      const meta = (rpc.params as { _meta?: Record<string, unknown> } | undefined)?._meta ?? {};
      if (headers['mcp-protocol-version'] !== '2026-07-28' || meta['io.modelcontextprotocol/protocolVersion'] !== '2026-07-28')
        return fail(400, -32022, 'Unsupported protocol version', { supported: ['2026-07-28'] });
      if (headers['mcp-method'] !== rpc.method) return fail(400, -32020, 'Header mismatch');
      if (rpc.method === 'server/discover')
        return json(response, resultOf(rpc, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }));
    } else {
      if (headers['mcp-protocol-version'] === '2026-07-28') return fail(400, -32000, 'Bad Request: Unsupported protocol version');
      if (rpc.method === 'initialize') {
        const id = `session-${++count}`;
        if (server.kind === 'sessions') sessions.add(id);
        const info = {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'fake', title: 'Fake server', version: '3.1.4' },
        };
        return json(response, resultOf(rpc, info), 200, server.kind === 'sessions' ? { 'Mcp-Session-Id': id } : {});
      }
      if (server.kind === 'sessions' && !sessions.has(String(headers['mcp-session-id']))) return fail(404, -32001, 'Session not found');
      if (rpc.id === undefined || rpc.method === undefined) return void response.writeHead(202).end();
    }
    if (rpc.method === 'tools/list') {
      const { tools = [], pageSize = tools.length } = server;
      const from = Number(rpc.params?.cursor ?? 0);
      const more = from + pageSize < tools.length && { nextCursor: String(from + pageSize) };
      return json(response, resultOf(rpc, { tools: tools.slice(from, from + pageSize), ...more }));
    }
    if (rpc.method !== 'tools/call') return fail(404, -32601, 'Method not found');
    if (server.call) return server.call(rpc, response, seen);
    json(response, resultOf(rpc, { content: [], structuredContent: rpc.params.arguments }));
  });
  return {
    ...upstream,
    url: `http://127.0.0.1:${upstream.port}/mcp`,
    /** ends every session without telling anybody */
    endSessions: () => sessions.clear(),
    /** methods of the requests so far, or `response` for what answers the server */
    methods: (): string[] =>
      upstream.seen.map(({ method, body }) => (method === 'POST' ? (JSON.parse(body).method ?? 'response') : method)),
  };
}
