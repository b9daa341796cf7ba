import { createServer, type IncomingMessage } from 'node:http';
import * as z from 'zod';
import { issuesOf } from '../../../functions/core/json.ts';
import { isFromProgram } from '../guard.ts';
import { close, listen, readBody, targetOf } from '../http.ts';
import { languageRoutes } from './language.ts';
import { Refusal, type Route } from './route.ts';
import { timeRoutes } from './time.ts';
import { worldRoutes } from './world.ts';

const maxBodyBytes = 256 * 1024;

export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

export const routes: readonly Route[] = [...worldRoutes, ...timeRoutes, ...languageRoutes];

const paths = routes.map((route) => ({ route, pattern: new RegExp(`^${route.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]*)')}$`) }));

/**
 * Starts the demo upstream, the web service that the demo intents call. It knows nothing about intents, policies or tokens, and computes
 * its responses from Node's ICU data.
 */
export async function startUpstream() {
  const server = createServer(async (request, response) => {
    const { status, body } = await answer(request).catch(describe);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => close(server) };
}

async function answer(request: IncomingMessage) {
  if (!isFromProgram(request)) throw new Refusal(403, 'This service is for programs of this machine.');
  const { pathname, searchParams } = targetOf(request);
  const matches = paths.flatMap(({ route, pattern }) => {
    const match = pattern.exec(pathname);
    return match ? [{ route, places: match.groups ?? {} }] : [];
  });
  if (matches.length === 0) throw new Refusal(404, 'There is nothing at this path.');
  const match = matches.find(({ route }) => route.method === request.method);
  if (!match) throw new Refusal(405, `This path takes ${matches.map(({ route }) => route.method).join(', ')} only.`);
  const places = Object.entries(match.places).map(([name, segment]) => [name, decodeURIComponent(segment)]);
  const given = match.route.method === 'GET' ? Object.fromEntries(searchParams) : await readObject(request);
  return { status: 200, body: match.route.answer({ ...given, ...Object.fromEntries(places) }) };
}

async function readObject(request: IncomingMessage): Promise<object> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) throw new Refusal(415, 'Send JSON as application/json.');
  const body = await readBody(request, maxBodyBytes);
  if (!body) throw new Refusal(413, `The body must have at most ${maxBodyBytes} bytes.`);
  try {
    const value: unknown = JSON.parse(body.toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Refusal(400, 'The body must be a JSON object.');
}

/** Errors in the upstream's own format, which differs from the gate's. */
function describe(error: unknown): { status: number; body: object } {
  if (error instanceof URIError) return { status: 400, body: { message: 'The path must be percent-encoded UTF-8.' } };
  if (error instanceof Refusal) return { status: error.status, body: { message: error.message } };
  if (error instanceof z.ZodError) {
    const problems = issuesOf(error).map(({ path, problem }) => ({ field: path.slice(1), problem }));
    return { status: 400, body: { message: problems.map(({ field, problem }) => `${field} ${problem}`).join('; '), problems } };
  }
  console.error(error);
  return { status: 500, body: { message: 'This service failed.' } };
}
