import { createServer, type IncomingMessage } from 'node:http';
import * as z from 'zod';
import { issuesOf } from '../../../functions/core/json/json.ts';
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
  if (!isFromProgram(request)) throw new Refusal(403, 'This service accepts only programs on this machine.');
  const { pathname, searchParams } = targetOf(request);
  for (const { route, pattern } of paths) {
    const match = request.method === route.method && pattern.exec(pathname);
    if (!match) continue;
    const places = Object.entries(match.groups ?? {}).map(([name, segment]) => [name, decodeURIComponent(segment)]);
    const given = route.method === 'GET' ? Object.fromEntries(searchParams) : JSON.parse(String(await readBody(request, maxBodyBytes)));
    return { status: 200, body: route.answer({ ...given, ...Object.fromEntries(places) }) };
  }
  throw new Refusal(404, 'There is nothing at this path.');
}

/** Errors in the upstream's own format, which differs from the gate's. */
function describe(error: unknown): { status: number; body: object } {
  if (error instanceof SyntaxError || error instanceof URIError) return { status: 400, body: { message: 'The request cannot be read.' } };
  if (error instanceof Refusal) return { status: error.status, body: { message: error.message } };
  if (error instanceof z.ZodError) {
    const problems = issuesOf(error).map(({ path, problem }) => ({ field: path.slice(1), problem }));
    return { status: 400, body: { message: problems.map(({ field, problem }) => `${field} ${problem}`).join('; '), problems } };
  }
  console.error(error);
  return { status: 500, body: { message: 'This service failed.' } };
}
