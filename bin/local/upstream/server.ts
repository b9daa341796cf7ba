import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod';
import { issuesOf } from '../../../functions/core/json.ts';
import { Refusal } from './refusal.ts';
import { type Route, routes } from './routes.ts';

const maxBodyBytes = 256 * 1024;

export interface UpstreamOptions {
  /** default 0: any free port */
  port?: number;
  /** default 127.0.0.1 */
  host?: string;
}

export interface Upstream {
  /** without a trailing slash */
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts the demo upstream: the web service whose operations the demo intents describe. It knows nothing of intents, policies or tokens,
 * and everything that it answers is computed from the ICU data that Node carries.
 */
export async function startUpstream({ port = 0, host = '127.0.0.1' }: UpstreamOptions = {}): Promise<Upstream> {
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const { address, family, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = await answer(request).catch(describe);
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

async function answer(request: IncomingMessage) {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://upstream');
  const matches = routes.map((route) => ({ route, places: matchPath(route.path, pathname) })).filter(({ places }) => places);
  if (matches.length === 0) throw new Refusal(404, 'There is nothing at this path.');
  const match = matches.find(({ route }) => route.method === request.method);
  if (!match) throw new Refusal(405, `This path takes ${matches.map(({ route }) => route.method).join(', ')} only.`);
  const given = match.route.method === 'GET' ? Object.fromEntries(searchParams) : await readBody(request);
  return { status: 200, body: match.route.answer({ ...given, ...match.places }) };
}

/** The values of a path's places, or nothing if the path does not match. */
function matchPath(pattern: Route['path'], pathname: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern, pathname].map((path) => path.split('/'));
  if (wanted?.length !== given?.length) return undefined;
  const places: Record<string, string> = {};
  for (const [index, segment] of wanted?.entries() ?? []) {
    const value = given?.[index] ?? '';
    const place = /^\{(.*)\}$/.exec(segment)?.[1];
    if (place !== undefined) places[place] = decode(value);
    else if (segment !== value) return undefined;
  }
  return places;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(400, 'The path must be percent-encoded UTF-8.');
  }
}

async function readBody(request: IncomingMessage): Promise<object> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) throw new Refusal(415, 'Send JSON as application/json.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new Refusal(413, `The body must have at most ${maxBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Refusal(400, 'The body must be a JSON object.');
}

/** Errors in the upstream's own form, which is not that of the gate in front of it. */
function describe(error: unknown): { status: number; body: object } {
  if (error instanceof Refusal) return { status: error.status, body: { message: error.message } };
  if (error instanceof z.ZodError) {
    const problems = issuesOf(error).map(({ path, problem }) => ({ field: path.slice(1), problem }));
    return { status: 400, body: { message: problems.map(({ field, problem }) => `${field} ${problem}`).join('; '), problems } };
  }
  console.error(error);
  return { status: 500, body: { message: 'This service failed.' } };
}
