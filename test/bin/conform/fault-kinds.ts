import type { Fault, SmallAnswer, SmallRequest } from './small-http.ts';

export interface PlantedFault extends Fault {
  name: string;
  /** the checks that have to fail; all others pass */
  found: string[];
}

export type Body = Record<string, unknown>;

export const isSearch = ({ path }: SmallRequest) => path === '/api/intents/search';
export const isExecution = ({ path }: SmallRequest) => path === '/api/intents/execute';
export const isIssue = ({ path }: SmallRequest) => path === '/api/pat/issue';
export const isIntent = ({ path }: SmallRequest) => /^\/api\/intents\/[^/]+:/.test(path);
export const isService = ({ path }: SmallRequest) => /^\/api\/services\/[^/]+$/.test(path);
export const isList = ({ path, method }: SmallRequest) => method === 'GET' && path.endsWith('/intents');

export const codeOf = ({ body }: SmallAnswer) => (body as { error?: { code?: string } } | undefined)?.error?.code;

/** Answers of one status become something else. */
export const change =
  (applies: (request: SmallRequest) => boolean, status: number, to: (answer: SmallAnswer, request: SmallRequest) => SmallAnswer) =>
  (request: SmallRequest, answer: SmallAnswer): SmallAnswer =>
    applies(request) && answer.status === status ? to(answer, request) : answer;

export const bodyWith = (more: Body) => (answer: SmallAnswer) => ({ ...answer, body: { ...(answer.body as Body), ...more } });

export const bodyWithout = (...names: string[]) => bodyWith(Object.fromEntries(names.map((name) => [name, undefined])));

export const errorWith = (status: number, code: string) => () => ({ status, body: { error: { code, message: 'A planted fault.' } } });

export const paginationWith = (alter: (pagination: Record<string, number>) => Body) => (answer: SmallAnswer) => {
  const body = answer.body as { pagination: Record<string, number> };
  return { ...answer, body: { ...body, pagination: { ...body.pagination, ...alter(body.pagination) } } };
};

/** Changes a query parameter, or drops it. */
export const requery =
  (name: string, to: (value: string) => string | undefined) =>
  (request: SmallRequest): SmallRequest => {
    const query = new URLSearchParams(request.query);
    const value = query.get(name);
    if (value === null) return request;
    query.delete(name);
    const changed = to(value);
    if (changed !== undefined) query.set(name, changed);
    return { ...request, query };
  };

export const ignore = (name: string) => requery(name, () => undefined);
export const misread = (name: string) => requery(name, () => 'nonsense');

/** Replaces a JSON object that is sent by another. */
export const rewrite =
  (applies: (request: SmallRequest) => boolean, alter: (body: Body) => Body) =>
  (request: SmallRequest): SmallRequest =>
    applies(request) && request.text.startsWith('{') ? { ...request, text: JSON.stringify(alter(JSON.parse(request.text))) } : request;

/** Lets writes through if `isTaken` accepts their token as an admin's. */
export const admit =
  (isTaken: (bearer: string | undefined) => boolean) =>
  (request: SmallRequest): SmallRequest =>
    isTaken(request.bearer) && !isExecution(request) ? { ...request, bearer: 'the-admin' } : request;

/** Says 204, and removes nothing. */
export const pretendToDelete = (applies: (request: SmallRequest) => boolean): Fault => ({
  before: (request) => (applies(request) && request.method === 'DELETE' ? { ...request, method: 'GET' } : request),
  after: (request, answer) => (applies(request) && request.method === 'DELETE' && answer.status === 200 ? { status: 204 } : answer),
});

/** Gives every caller the answer that the first one got. */
export const firstAnswer = (): NonNullable<Fault['after']> => {
  let first: SmallAnswer | undefined;
  return change(isIssue, 200, (answer) => {
    first ??= answer;
    return first;
  });
};

export const reclaim = (alter: (claims: Body) => Body) =>
  change(isIssue, 200, (answer) => {
    const [header, payload = '', signature] = String((answer.body as Body)['proto-pat']).split('.');
    const claims = alter(JSON.parse(Buffer.from(payload, 'base64url').toString()));
    return bodyWith({ 'proto-pat': `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}` })(answer);
  });

export const any = () => true;
