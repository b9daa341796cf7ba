import { type JsonObject, parse } from '../json/json.ts';
import type { ApiRequest } from './request.ts';
import { namesRevision } from './response.ts';

/** A call of an endpoint's action within another request, whose other headers it inherits. */
export interface InnerCall {
  pathParameters?: Record<string, string>;
  query?: Record<string, string>;
  body?: JsonObject;
  /** by their lower-case names */
  headers?: Record<string, string | undefined>;
}

/**
 * The request that a client of the endpoint would have sent. Method, path and base URL stay those of the HTTP request, to which a proof of possession
 * is bound (RFC 9449).
 */
export function innerRequest(request: ApiRequest, { pathParameters = {}, query = {}, body = {}, headers = {} }: InnerCall): ApiRequest {
  const own = new Map(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined));
  const headerValues = (name: string) => (own.has(name) ? [own.get(name) as string] : request.headerValues(name));
  return {
    ...request,
    pathParameter: (name) => pathParameters[name] ?? '',
    header: (name) => own.get(name) ?? request.header(name),
    headerValues,
    query: (schema) => parse(schema, query),
    queryValues: () => query,
    text: () => JSON.stringify(body),
    json: () => body,
    body: (schema) => parse(schema, body),
    form: (schema) => parse(schema, {}),
    ifMatch: (record, digest) => namesRevision(headerValues('if-match')[0], record, digest),
  };
}
