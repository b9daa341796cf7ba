import type * as z from 'zod';
import { errorBody } from '../../schemas/errors.ts';

/** What stops the demo, in one sentence for the person who runs it. */
export class DemoFailure extends Error {
  override readonly name = 'DemoFailure';
}

/** A request and its answer. */
export interface Exchange {
  /** the request in one line */
  request: string;
  status: number;
  headers: Headers;
  body: unknown;
  /** until the body was read */
  durationMs: number;
}

export interface CallOptions {
  bearer?: string;
  /** sent as JSON */
  body?: unknown;
}

/** A body on one line: keys and tokens are only hinted at. */
const preview = (body: unknown): string =>
  JSON.stringify(body, (_, value) => (typeof value === 'string' && value.length > 64 ? `${value.slice(0, 12).trimEnd()}...` : value));

/**
 * Sends one request.
 * @throws DemoFailure where nothing answers, or something that is not JSON
 */
export async function call(method: string, url: string, { bearer, body }: CallOptions = {}): Promise<Exchange> {
  const startedMs = performance.now();
  const { origin, pathname, search } = new URL(url);
  const request = [method, decodeURIComponent(pathname) + search, ...(body === undefined ? [] : [preview(body)])].join(' ');
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const { status, headers } = response;
    return { request, status, headers, body: await response.json(), durationMs: performance.now() - startedMs };
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new DemoFailure(`${request} was answered with something that is not JSON; is ${origin} an Intent Gate?`);
    throw new DemoFailure(`Nothing answers at ${origin}. Start the service with "npm start", or check the address.`, { cause: error });
  }
}

/** What an error answer says: its code and message. */
export function readError(body: unknown): { code: string; message: string; details: Record<string, unknown> } {
  const { success, data } = errorBody.safeParse(body);
  if (!success) throw new DemoFailure('An error was answered in a form that is not that of the specification (section 7.1).');
  const { code, message, details = {} } = data.error;
  return { code, message, details };
}

/**
 * Insists on a status.
 * @throws DemoFailure with what was answered instead
 */
export function expectStatus(exchange: Exchange, status: number): Exchange {
  if (exchange.status === status) return exchange;
  const instead =
    exchange.status < 400 ? exchange.status : `${exchange.status} ${readError(exchange.body).code}: ${readError(exchange.body).message}`;
  throw new DemoFailure(`${exchange.request} should have been answered ${status}, but was answered ${instead}`);
}

/**
 * The body of an answer, in the form that the specification gives it.
 * @throws DemoFailure where it has another
 */
export function readBody<T extends z.ZodType>(schema: T, { request, body }: Exchange): z.output<T> {
  const { success, data } = schema.safeParse(body);
  if (!success) throw new DemoFailure(`${request} was answered in a form that is not that of the specification.`);
  return data;
}
