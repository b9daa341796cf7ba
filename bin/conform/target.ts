import type * as z from 'zod';
import { issuesOf } from '../../functions/core/json.ts';
import { errorShape } from './shapes.ts';

/** A request and its answer. */
export interface Exchange {
  /** the request in one line */
  request: string;
  status: number;
  headers: Headers;
  text: string;
  /** undefined where the answer is not JSON */
  body: unknown;
}

export interface RequestOptions {
  bearer?: string | undefined;
  /** sent as JSON */
  body?: unknown;
  /** sent as it is, with this media type */
  raw?: { text: string; mediaType: string };
}

export type Call = (method: string, path: string, options?: RequestOptions) => Promise<Exchange>;

/** Sends requests to the service at `baseUrl`; each may take 30 seconds. */
export const openTarget =
  (baseUrl: string): Call =>
  async (method, path, { bearer, body, raw } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : { text: JSON.stringify(body), mediaType: 'application/json' });
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      redirect: 'manual',
      headers: { ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }), ...(sent && { 'Content-Type': sent.mediaType }) },
      ...(sent && { body: sent.text }),
      signal: AbortSignal.timeout(30_000),
    });
    const { status, headers } = response;
    const text = await response.text();
    return { request: `${method} ${path}`, status, headers, text, body: parseBody(text) };
  };

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is wrong with the form of an answer's JSON body. */
export function checkShape({ request, body, headers }: Exchange, shape: z.ZodType): string[] {
  if (body === undefined) return [`${request} was answered with a body that is not JSON`];
  const result = shape.safeParse(body, { reportInput: true });
  const issues = result.success ? [] : issuesOf(result.error);
  return [
    ...(/^application\/json\b/i.test(headers.get('content-type') ?? '')
      ? []
      : [`${request} was answered without Content-Type: application/json`]),
    ...issues.map(({ path, problem }) => `${request}: ${path || 'the body'} of the answer ${problem}`),
  ];
}

/** What is wrong with an answer that should be a success. */
export const checkAnswer = (exchange: Exchange, status: number, shape: z.ZodType): string[] =>
  exchange.status === status
    ? checkShape(exchange, shape)
    : [`${exchange.request} was answered ${exchange.status}${nameCode(exchange)}, but should be answered ${status}`];

/** What is wrong with an answer that should have no body. */
export const checkEmptied = (exchange: Exchange): string[] => {
  if (exchange.status !== 204)
    return [`${exchange.request} was answered ${exchange.status}${nameCode(exchange)}, but should be answered 204`];
  return exchange.text === '' ? [] : [`${exchange.request} was answered with a body, but 204 has none`];
};

/** A status, or all of its class where the specification names the class alone. */
export type WantedStatus = number | '4xx';

/** What is wrong with an answer that should be a refusal: its status, its name (specification section 7.2), its form (7.1). */
export function checkRefusal(exchange: Exchange, status: WantedStatus, code: string): string[] {
  const { request } = exchange;
  const isWanted = status === '4xx' ? exchange.status >= 400 && exchange.status < 500 : exchange.status === status;
  if (!isWanted) return [`${request} was answered ${exchange.status}${nameCode(exchange)}, but should be refused with ${status} ${code}`];
  const problems = checkShape(exchange, errorShape);
  if (problems.length > 0) return problems;
  return codeOf(exchange) === code ? [] : [`${request} was refused as ${codeOf(exchange)}, but should be refused as ${code}`];
}

export const codeOf = ({ body }: Exchange): string | undefined => errorShape.safeParse(body).data?.error.code;

const nameCode = (exchange: Exchange): string => (codeOf(exchange) === undefined ? '' : ` ${codeOf(exchange)}`);
