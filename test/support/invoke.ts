import { gunzipSync } from 'node:zlib';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { Admin } from '../../functions/core/admin/admin.ts';
import type { AdminAction } from '../../functions/core/admin/for-admins.ts';
import { type Action, serve } from '../../functions/core/http/serve.ts';
import { commonErrors } from '../../lib/endpoints/endpoint.ts';
import { endpoints } from '../../lib/endpoints.ts';

/** Method and path of an endpoint below the stage, such as `PUT /api/services/{service_id}`. */
export type Target = `${'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;

export interface Call {
  /** values of the variables in the path, not encoded */
  path?: Record<string, string>;
  query?: Record<string, string | string[]> | undefined;
  headers?: Record<string, string | string[]> | undefined;
  /** a text is sent as it is, anything else as JSON with its Content-Type */
  body?: unknown;
  remainingMs?: number;
}

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  cookies?: unknown[];
  // biome-ignore lint/suspicious/noExplicitAny: tests compare whole bodies of every shape
  body: any;
}

const listed = (values: Record<string, string | string[]> = {}): Record<string, string[]> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value].flat()]));

/** The event that API Gateway would make of a call. */
export function eventOf(target: Target, { path: variables = {}, query, headers = {}, body }: Call = {}): APIGatewayProxyEvent {
  const [, httpMethod, resource = ''] = /^(\w+) (.*)$/s.exec(target) ?? [];
  const path = resource.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(variables[name] ?? ''));
  const queryValues = listed(query);
  return {
    httpMethod,
    path,
    resource,
    pathParameters: Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, encodeURIComponent(value)])),
    multiValueHeaders: listed({ ...(typeof body === 'object' && { 'Content-Type': 'application/json' }), ...headers }),
    multiValueQueryStringParameters: query ? queryValues : null,
    queryStringParameters: query ? Object.fromEntries(Object.entries(queryValues).map(([name, values]) => [name, values.at(-1)])) : null,
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    isBase64Encoded: false,
    requestContext: { requestId: 'request-1', stage: 'test', domainName: 'api.example', path: `/test${path}` },
  } as unknown as APIGatewayProxyEvent;
}

/** Calls the steps of an endpoint as the deployed chain would: event in, status, headers and parsed body out. A page is a text. */
export async function invoke(steps: Action, target: Target, call: Call = {}): Promise<Answer> {
  const context = { getRemainingTimeInMillis: () => call.remainingMs ?? 60_000 } as Context;
  const {
    statusCode,
    headers = {},
    multiValueHeaders,
    body: sent,
  } = await serve(steps, { protocol: 'proto' })(eventOf(target, call), context);
  const body = headers['Content-Encoding'] === 'gzip' ? gunzipSync(Buffer.from(sent, 'base64')).toString() : sent;
  const cookies = multiValueHeaders && { cookies: multiValueHeaders['Set-Cookie'] ?? [] };
  if (/^text\//.test(String(headers['Content-Type']))) return { status: statusCode, headers, ...cookies, body };
  return { status: statusCode, headers, ...cookies, body: body === '' ? undefined : checkRefusal(target, JSON.parse(body)) };
}

/** The query of the next page, from the `Link` header. */
export function nextQuery({ headers }: Answer): Record<string, string> | undefined {
  const [, next] = /<([^>]*)>; rel="next"/.exec(String(headers.Link)) ?? [];
  return next === undefined ? undefined : Object.fromEntries(new URL(next).searchParams);
}

/** A full admin, for tests of what comes after the verification. */
export const someAdmin: Admin = { actor: { subject: 'somebody', user_name: 'alice' }, requestId: 'request-1' };

/** An action as an admin who has been verified calls it. */
export const byAdmin =
  (act: AdminAction, admin = someAdmin): Action =>
  (request) =>
    act(admin, request);

/** The content of a refusal, without the members that every refusal has. Of any other answer, only the status. */
export function refusalOf({ status, body }: Pick<Answer, 'status' | 'body'>) {
  const { code, message, details: { reference, request_id, ...details } = {} as Record<string, unknown> } = body?.error ?? {};
  return { status, code, message, details };
}

/**
 * What applies to every refusal is checked here, so that tests compare the rest: the table of endpoints lists its code, and its help_url, which is
 * left out of the result, leads to that code on the reference page.
 */
function checkRefusal(target: Target, body: Answer['body']): Answer['body'] {
  // not those of OAuth and JSON-RPC, which have forms of their own
  if (typeof body.error?.code !== 'string') return body;
  const { help_url, ...error } = body.error;
  const endpoint = endpoints.find(({ method, path }) => `${method} ${path}` === target);
  // one that lists none stands for any in tests of what all endpoints share
  if (endpoint?.errors.length && ![...endpoint.errors, ...commonErrors].includes(error.code))
    throw new Error(`${endpoint.name} does not list ${error.code}`);
  if (!String(help_url).endsWith(`/docs#${error.code}`)) throw new Error('the help_url of a refusal does not lead to its code');
  return { ...body, error };
}

/** The uids on each page, from a first page of three on; `change` runs once the first page has been read. */
export async function uidsOfPages(
  ask: (query: Record<string, string>) => Promise<Answer>,
  change: () => Promise<unknown>,
): Promise<string[][]> {
  const pages: string[][] = [];
  for (let query: Record<string, string> | undefined = { page_size: '3' }; query; ) {
    const answer = await ask(query);
    pages.push(answer.body.intents.map(({ intent_uid }: { intent_uid: string }) => intent_uid));
    if (pages.length === 1) await change();
    query = nextQuery(answer);
  }
  return pages;
}
