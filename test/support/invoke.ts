import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { type Action, serve } from '../../functions/core/http/serve.ts';

export interface Call {
  method?: string;
  /** below the stage, undecoded */
  path: string;
  resource?: string;
  pathParameters?: Record<string, string>;
  query?: Record<string, string | string[]>;
  headers?: Record<string, string | string[]>;
  body?: string;
  remainingMs?: number;
}

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: tests compare whole bodies of every shape
  body: any;
}

const listed = (values: Record<string, string | string[]> = {}): Record<string, string[]> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value].flat()]));

/** The event that API Gateway would make of a call. */
export function eventOf({ method = 'GET', path, resource = path, pathParameters, query, headers, body }: Call): APIGatewayProxyEvent {
  const queryValues = listed(query);
  return {
    httpMethod: method,
    path,
    resource,
    pathParameters: pathParameters ?? null,
    multiValueHeaders: listed(headers),
    multiValueQueryStringParameters: query ? queryValues : null,
    queryStringParameters: query ? Object.fromEntries(Object.entries(queryValues).map(([name, values]) => [name, values.at(-1)])) : null,
    body: body ?? null,
    isBase64Encoded: false,
    requestContext: { requestId: 'request-1', stage: 'test', domainName: 'api.example', path: `/test${path}` },
  } as unknown as APIGatewayProxyEvent;
}

/** Calls the steps of an endpoint as the deployed chain would: event in, status, headers and parsed body out. A page is a text. */
export async function invoke(steps: Action, call: Call): Promise<Answer> {
  const context = { getRemainingTimeInMillis: () => call.remainingMs ?? 60_000 } as Context;
  const { statusCode, headers = {}, body } = await serve(steps, { protocol: 'proto' })(eventOf(call), context);
  if (/^text\//.test(String(headers['Content-Type']))) return { status: statusCode, headers, body };
  return { status: statusCode, headers, body: body === '' ? undefined : withoutHelp(JSON.parse(body)) };
}

/** The content of a refusal, without the members that every refusal has. Of any other answer, only the status. */
export function refusalOf({ status, body }: Pick<Answer, 'status' | 'body'>) {
  const { code, message, details: { reference, request_id, ...details } = {} as Record<string, unknown> } = body?.error ?? {};
  return { status, code, message, details };
}

/** The help_url of every refusal leads to its code on the reference page: checked here, so that tests compare the rest. */
function withoutHelp(body: Answer['body']): Answer['body'] {
  // not those of OAuth and JSON-RPC, which have forms of their own
  if (typeof body.error?.code !== 'string') return body;
  const { help_url, ...error } = body.error;
  if (!String(help_url).endsWith(`/docs#${error.code}`)) throw new Error('the help_url of a refusal does not lead to its code');
  return { ...body, error };
}
