import { paginate } from '../../../schemas/pagination.ts';

/** A request as the small server sees it. */
export interface SmallRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  bearer: string | undefined;
  mediaType: string;
  text: string;
}

export interface SmallAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A way to be broken: what it does to requests before, and to answers after the server has seen them. */
export interface Fault {
  before?(request: SmallRequest): SmallRequest;
  after?(request: SmallRequest, answer: SmallAnswer): SmallAnswer;
}

/** An error that the small server answers with. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(`The small server says ${code}.`);
    this.status = status;
    this.code = code;
  }
}

export const bodyOf = ({ mediaType, text }: SmallRequest): Record<string, unknown> => {
  if (!mediaType.startsWith('application/json')) throw new Refused(415, 'UNSUPPORTED_MEDIA_TYPE');
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && !Array.isArray(value)) return value;
  } catch {
    // refused below
  }
  throw new Refused(400, 'INVALID_PARAMETER');
};
export const valid = <T>({ success, data }: { success: boolean; data?: T }): T => {
  if (!success) throw new Refused(400, 'INVALID_PARAMETER');
  return data as T;
};
export const found = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Refused(404, 'NOT_FOUND');
  return value;
};
export const pageOf = <T>({ query }: SmallRequest, rows: T[]) => {
  const [page, size] = ['page', 'page_size'].map((name, at) => query.get(name) ?? ['1', '10'][at] ?? '');
  if (!/^[1-9][0-9]*$/.test(page ?? '') || !/^([1-9][0-9]?|100)$/.test(size ?? '')) throw new Refused(400, 'INVALID_PARAMETER');
  const pagination = paginate(rows.length, Number(page), Number(size));
  const start = (Number(page) - 1) * Number(size);
  return { status: 200, body: { intents: rows.slice(start, start + Number(size)), pagination } };
};
