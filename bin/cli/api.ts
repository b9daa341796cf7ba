import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { Issue } from '../../schemas/errors.ts';
import { CliFailure, type ExitReason } from './failure.ts';

/** An answer of the service that is not 2xx. */
export class ApiFailure extends CliFailure {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;

  constructor(status: number, code: string, message: string, details: Record<string, unknown> = {}) {
    const reason: ExitReason = status === 401 || status === 403 ? 'credentials' : 'failure';
    super(reason, message, { issues: (details.issues as Issue[] | undefined) ?? [] });
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export interface Tokens {
  /** the admin's access token; renewed where it is about to expire. `renew` asks for another one in any case */
  get(renew?: boolean): Promise<string>;
}

export interface CallOptions {
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** sends the admin's token */
  isAdmin?: boolean;
  /** false: the first refusal is the answer */
  isRetried?: boolean;
}

export interface Reply {
  status: number;
  headers: Headers;
  /** undefined for 204 */
  body: unknown;
  /** the body as it was sent */
  text: string;
}

export interface Api {
  baseUrl: string;
  /**
   * Calls the service. What says "later" (429, 503, 504, a connection that breaks) is tried again, after the time that the service names.
   * @throws ApiFailure where the service refuses
   * @throws CliFailure `unreachable` where nothing answers
   */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
}

const timeoutMs = 35_000;
const maxAttempts = 8;
const maxWaitMs = 60_000;

const refusal = z.object({
  error: z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()).optional() }),
});

/** What came of one attempt: an answer, or why there is none. */
type Attempt = { answer: Reply } | { silence: unknown };

export function openApi(baseUrl: string, tokens: Tokens, waitMs: (ms: number) => Promise<unknown> = wait): Api {
  let hasAnswered = false;

  async function attempt(
    method: string,
    path: string,
    { query = {}, body, headers, isAdmin }: CallOptions,
    renew: boolean,
  ): Promise<Attempt> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
    const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
    const authorization = isAdmin ? { Authorization: `Bearer ${await tokens.get(renew)}` } : {};
    try {
      const response = await fetch(`${baseUrl}${path}${search.size > 0 ? `?${search}` : ''}`, {
        method,
        headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...authorization, ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      hasAnswered = true;
      return { answer: { status: response.status, headers: response.headers, text, body: readBody(text) } };
    } catch (silence) {
      return { silence };
    }
  }

  const unreachable = (cause: unknown) =>
    new CliFailure('unreachable', `Nothing answers at ${baseUrl}. Check the address, and whether the service runs.`, { cause });

  return {
    baseUrl,
    async call(method, path, options = {}) {
      let renew = false;
      for (let count = 1; ; count++) {
        const outcome = await attempt(method, path, options, renew);
        const isLast = count >= maxAttempts || options.isRetried === false;
        if ('silence' in outcome) {
          // a service that has never answered is not there; one that has will come back
          if (isLast || !hasAnswered) throw unreachable(outcome.silence);
          await waitMs(backOffMs(count));
          continue;
        }
        const { answer } = outcome;
        if (answer.status >= 200 && answer.status < 300) return answer;
        if (answer.status === 401 && options.isAdmin && !renew) renew = true;
        else if (!isLast && [429, 503, 504].includes(answer.status)) await waitMs(retryAfterMs(answer) ?? backOffMs(count));
        else throw describeRefusal(answer, method, path);
      }
    },
  };
}

const backOffMs = (count: number): number => Math.min(100 * 2 ** count, 5_000) * (0.5 + Math.random() / 2);

function retryAfterMs({ headers }: Reply): number | undefined {
  const field = headers.get('retry-after') ?? '';
  return /^[0-9]{1,6}$/.test(field) ? Math.min(Number(field) * 1000, maxWaitMs) : undefined;
}

function readBody(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describeRefusal({ status, body }: Reply, method: string, path: string): CliFailure {
  const { success, data } = refusal.safeParse(body);
  if (success) return new ApiFailure(status, data.error.code, data.error.message, data.error.details);
  return new CliFailure(
    'failure',
    `${method} ${path} was answered ${status}, without an error of the specification. Is an Intent Gate at this address?`,
  );
}
