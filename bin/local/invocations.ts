import { createServer } from 'node:http';
import { listenForStack } from './guard.ts';
import { close, readBody } from './http.ts';

const maxEventBytes = 6 * 1024 * 1024;

/**
 * A stand-in for Lambda on a loopback port with one operation, Invoke, with which functions call each other synchronously or asynchronously.
 * @param invoke - runs a function of the stack by name, and returns its result as JSON
 */
export async function startInvocations(invoke: (name: string, event: unknown) => Promise<string | undefined>) {
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: string, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);
    try {
      const [, name] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.url ?? '') ?? [];
      const event = await readBody(request, maxEventBytes);
      if (request.method !== 'POST' || name === undefined || event === undefined) {
        answer(400, '{}', { 'x-amzn-errortype': 'InvalidRequestContentException' });
        return;
      }
      if (request.headers['x-amz-invocation-type'] === 'Event') {
        // failures appear in the function's log and are not retried
        void invoke(decodeURIComponent(name), JSON.parse(event.toString())).catch(() => {});
        answer(202, '');
        return;
      }
      answer(200, (await invoke(decodeURIComponent(name), JSON.parse(event.toString()))) ?? 'null');
    } catch (error) {
      answer(200, JSON.stringify({ errorType: error instanceof Error ? error.name : 'Error' }), { 'X-Amz-Function-Error': 'Unhandled' });
    }
  });
  return { endpoint: await listenForStack(server), stop: () => close(server) };
}
