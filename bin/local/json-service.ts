import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type * as z from 'zod';
import { listenForStack } from './guard.ts';
import { close, readBody } from './http.ts';

export const account = '000000000000';
export const region = 'eu-west-1';

/** An error response; `name` is its type on the wire. */
export class ServiceError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

export interface WireAnswer {
  status: number;
  body: unknown;
}

/**
 * Injects faults for tests: gets each operation with its real response, and returns the response to send, possibly after a delay.
 * If it throws, the connection is closed without a response.
 */
export type Disturb = (operation: string, answer: WireAnswer) => WireAnswer | Promise<WireAnswer>;

export type RunningService = Awaited<ReturnType<typeof startJsonService>>;

export const operation = <T extends z.ZodType>(input: T, act: (input: z.output<T>) => object) => {
  return (given: unknown): object => {
    const result = input.safeParse(given);
    if (result.success) return act(result.data);
    const [{ path, message } = { path: [], message: '' }] = result.error.issues;
    throw new ServiceError('ValidationException', `${path.join('.')}: ${message}`);
  };
};

/**
 * Serves a stand-in for an AWS service on a loopback port in the JSON 1.1 protocol, for the SDK's client. Accepts any credentials
 * at an address that only this stack knows.
 * @param operations - the supported operations by name; others are answered with UnknownOperationException
 */
export async function startJsonService(operations: Record<string, (input: unknown) => object>, disturb: Disturb = (_, answer) => answer) {
  /** names of all calls so far; `length = 0` clears them */
  const called: string[] = [];

  const answer = (name: string, body: string): WireAnswer => {
    try {
      const act = Object.hasOwn(operations, name) ? operations[name] : undefined;
      if (!act) throw new ServiceError('UnknownOperationException', 'This stand-in does not support the operation.');
      return { status: 200, body: act(JSON.parse(body)) };
    } catch (error) {
      if (error instanceof ServiceError) return { status: 400, body: { __type: error.name, message: error.message } };
      if (error instanceof SyntaxError)
        return { status: 400, body: { __type: 'SerializationException', message: 'The body is not JSON.' } };
      console.error(error);
      return { status: 500, body: { __type: 'InternalFailure', message: 'The stand-in failed; its log says why.' } };
    }
  };

  const server = createServer(async (request, response) => {
    try {
      const name = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
      const body = (await readBody(request, 1024 * 1024)) ?? Buffer.alloc(0);
      called.push(name);
      const sent = await disturb(name, answer(name, body.toString()));
      response.writeHead(sent.status, { 'Content-Type': 'application/x-amz-json-1.1', 'x-amzn-RequestId': randomUUID() });
      response.end(JSON.stringify(sent.body));
    } catch {
      request.socket.destroy();
    }
  });
  return { endpoint: await listenForStack(server), operations: called, stop: () => close(server) };
}
