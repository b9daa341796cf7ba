import { type ErrorCode, errorTable, type Issue } from '../../../schemas/errors.ts';

export interface ApiErrorOptions {
  /** for a code that allows several (413 for INVALID_PARAMETER, 422 for INTENT_EXECUTION_FAILED) */
  status?: number;
  /** members of `error.details`; never caller input */
  details?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** kept for the log, never sent */
  cause?: unknown;
  /** default: `upstream` if `details.upstream_status` is given, else `gate` */
  fault?: Fault;
}

/** Who caused a response of 500 or above: alarms count only those that the gate caused. */
export type Fault = 'gate' | 'upstream';

/** The only error that callers see. Anything else that is thrown becomes INTERNAL_SERVER_ERROR. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly fault: Fault;

  /** @param message - what is wrong and what to do next; it must not echo input */
  constructor(code: ErrorCode, message: string, { status, details = {}, headers = {}, cause, fault }: ApiErrorOptions = {}) {
    super(message, { cause });
    this.code = code;
    this.status = status ?? errorTable[code].status;
    const { 'Retry-After': seconds } = headers;
    // the outcome of a deferred call is told without header fields
    this.details = details.outcome !== undefined && seconds !== undefined ? { retry_after_seconds: Number(seconds), ...details } : details;
    this.headers = headers;
    this.fault = fault ?? (details.upstream_status === undefined ? 'gate' : 'upstream');
  }

  withDetails(details: Record<string, unknown>): ApiError {
    return this.with({ details: { ...details, ...this.details } });
  }

  withHeaders(headers: Record<string, string>): ApiError {
    return this.with({ headers: { ...headers, ...this.headers } });
  }

  with({ message = this.message, ...changes }: Pick<ApiErrorOptions, 'details' | 'headers'> & { message?: string }): ApiError {
    const { code, status, details, headers, cause, fault } = this;
    return new ApiError(code, message, { status, details, headers, cause, fault, ...changes });
  }
}

export function invalidParameter(
  issues: Issue[],
  message = 'The request is not valid. Correct every problem in details.issues, then send it again.',
): ApiError {
  const left = issues.length - maxIssues;
  const rest = left > 0 ? [{ path: '', problem: `has ${left} more problems, which are not listed; correct these first` }] : [];
  return new ApiError('INVALID_PARAMETER', message, { details: { issues: [...issues.slice(0, maxIssues), ...rest] } });
}

/** Keeps a response from being many times the size of its request. */
const maxIssues = 100;

/** SERVICE_UNAVAILABLE: a dependency did not answer. `Retry-After` defaults to 1 second. */
export const unavailable = (message: string, cause?: unknown, retryAfterSeconds = 1) =>
  new ApiError('SERVICE_UNAVAILABLE', message, { cause, headers: { 'Retry-After': String(retryAfterSeconds) } });

/** Whether an error says that a dependency did not answer. */
export const isUnavailable = (error: unknown): boolean => error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE';
