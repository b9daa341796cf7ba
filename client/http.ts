import { describeUsedUp, type Effect, type GateErrorCode, RateLimited, Refusal, UnexpectedAnswer, Unreachable } from './errors.ts';
import { parseForwarded, stringifyJson } from './json.ts';
import { findProxy } from './proxy.ts';
import { openQuota } from './quota.ts';

export interface HttpOptions {
  /** address of the gate, without a trailing slash */
  url: string;
  /** default: the global one, or in Node, through the proxy that the environment names */
  fetch?: typeof fetch | undefined;
  /** maximum number of attempts if nothing answers or the gate is unavailable; default: 4 */
  maxAttempts?: number | undefined;
  /** maximum total wait for quota or an unavailable gate, in milliseconds; default: 90,000, enough for a per-minute quota */
  maxWaitMs?: number | undefined;
  /** timeout of one attempt, in milliseconds; default: 35,000, longer than the gate ever takes */
  timeoutMs?: number | undefined;
  /** whether to retry even if the gate has never answered; default: true */
  isRetriedUnseen?: boolean | undefined;
  /** parses JSON responses; default: `JSON.parse`, and {@link parseForwarded} for refusals, which contain answers of services */
  parse?: ((text: string) => unknown) | undefined;
  /** called before each wait for quota or an unavailable gate, with its length in milliseconds and what it waits for; default: waits silently */
  onWait?: ((ms: number, reason: Error) => void) | undefined;
  /** default: a timer */
  sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

export interface ExchangeOptions {
  /** undefined and empty values are omitted */
  query?: Record<string, string | number | undefined> | undefined;
  headers?: Record<string, string> | undefined;
  bearer?: string | undefined;
  body?: unknown;
  /** sent instead of `body` */
  raw?: { text: string; mediaType: string } | undefined;
  signal?: AbortSignal | undefined;
  /** what the request causes. `send` finds that out itself; there, it is what an earlier request may have caused */
  effect?: Effect | undefined;
}

export interface SendOptions extends ExchangeOptions {
  /** called before each attempt, because a signature is valid for only one request */
  prepare?(): Promise<Pick<ExchangeOptions, 'headers' | 'body'>>;
  /** waits for quota of this intent before sending */
  intentUid?: string;
}

export interface Exchange {
  request: string;
  status: number;
  headers: Headers;
  bytes: Uint8Array;
  text: string;
  /** parsed JSON; undefined if it is not JSON */
  body: unknown;
  durationMs: number;
}

export interface Http {
  url: string;
  /**
   * Sends a request once, without following redirects, and returns any response.
   * @throws Unreachable, or the signal's reason
   */
  exchange(method: string, path: string, options?: ExchangeOptions): Promise<Exchange>;
  /**
   * Retries while the gate is unavailable or quota is used up.
   * @returns a successful response, whose body is an object unless its status is 204; or the 404 of a deletion that an earlier attempt may have made
   * @throws Refusal, RateLimited, Unreachable, UnexpectedAnswer, or the signal's reason
   */
  send(method: string, path: string, options?: SendOptions): Promise<Exchange>;
  /** time of the gate's clock, in milliseconds since the epoch */
  now(): number;
}

const firstPauseMs = 250;

export function openHttp(options: HttpOptions): Http {
  const { url, maxAttempts = 4, maxWaitMs = 90_000, timeoutMs = 35_000, isRetriedUnseen = true, parse, sleep = pause, onWait } = options;
  // looked up for each request, because a page or test may replace it
  const proxy = options.fetch ? undefined : findProxy(url);
  const fetch = options.fetch ?? proxy?.fetch ?? ((...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request));
  let clockOffsetMs = 0;
  const quota = openQuota();
  let hasAnswered = false;

  async function exchange(method: string, path: string, given: ExchangeOptions = {}): Promise<Exchange> {
    const { query = {}, headers, bearer, body, raw, signal, effect } = given;
    const sent = raw ?? (body === undefined ? undefined : { text: stringifyJson(body), mediaType: 'application/json' });
    const parameters = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]): [string, string][] =>
        value === undefined || value === '' ? [] : [[name, String(value)]],
      ),
    );
    const target = path + (parameters.size > 0 ? `?${parameters}` : '');
    const fields: Record<string, string> = {
      Accept: 'application/json',
      ...(sent && { 'Content-Type': sent.mediaType }),
      ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
      ...headers,
    };
    for (const [name, value] of Object.entries(fields))
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw new TypeError(`the header field ${name} has characters that cannot be sent`);
    const startedMs = performance.now();
    try {
      const response = await fetch(url + target, {
        method,
        headers: fields,
        ...(sent && { body: sent.text }),
        redirect: 'manual',
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
      });
      const bytes = new Uint8Array(await response.arrayBuffer());
      const text = new TextDecoder().decode(bytes);
      hasAnswered = true;
      const date = Date.parse(response.headers.get('date') ?? '');
      if (!Number.isNaN(date)) clockOffsetMs = date - Date.now();
      const durationMs = performance.now() - startedMs;
      return {
        request: `${method} ${target}`,
        status: response.status,
        headers: response.headers,
        bytes,
        text,
        body: parseText(text, parse ?? (response.status < 400 ? JSON.parse : parseForwarded)),
        durationMs,
      };
    } catch (cause) {
      signal?.throwIfAborted();
      throw new Unreachable(url, cause, proxy?.name, isUnsent(cause) ? undefined : effect);
    }
  }

  async function send(method: string, path: string, given: SendOptions = {}): Promise<Exchange> {
    const { prepare, intentUid, ...request } = given;
    const { signal } = request;
    let waitedMs = 0;
    let failures = 0;
    let refusals = 0;
    // what agents prepare is repeated safely; dry runs and tests change nothing
    const isChange =
      method !== 'GET' && prepare === undefined && request.query?.dry_run === undefined && !path.endsWith('/credential/test');
    const { effect = intentUid !== undefined ? 'call' : isChange ? 'change' : undefined } = request;
    /** whether an attempt of this request may have had the effect, and `mayBeDone`, whether it or an earlier request may */
    let isLost = false;
    const mayBeDone = () => isLost || request.effect !== undefined;
    const wait = async (ms: number, failure: Error) => {
      waitedMs += ms;
      if (waitedMs > maxWaitMs) throw failure;
      onWait?.(ms, failure);
      await sleep(ms, signal);
    };
    const retry = async (failure: Error, ms = pauseMs(failures + 1)) => {
      failures++;
      if (failures >= maxAttempts) throw failure;
      await wait(ms, failure);
    };

    for (;;) {
      signal?.throwIfAborted();
      const { untilMs = 0, words = '' } = (intentUid !== undefined && quota.find(intentUid)) || {};
      const quotaWaitMs = untilMs - Date.now();
      if (quotaWaitMs > 0) await wait(quotaWaitMs, new RateLimited(quotaWaitMs, words));
      const hadAnswered = hasAnswered;
      let answer: Exchange;
      try {
        answer = await exchange(method, path, { ...request, effect, ...(await prepare?.()) });
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        isLost ||= error.effect !== undefined;
        const failure = new Unreachable(url, error.cause, proxy?.name, mayBeDone() ? effect : undefined);
        if (!hadAnswered && !isRetriedUnseen) throw failure;
        await retry(failure);
        continue;
      }
      const { status, headers, body } = answer;
      if (intentUid !== undefined) quota.noteHeaders(intentUid, headers);
      if (status === 204 || (status >= 200 && status < 300 && isObject(body))) return answer;

      // an answer to a call is that of the first attempt under its key, except to a caller that is refused; one to a change is only of this attempt
      const earlier = isLost && (effect === 'change' || status === 401 || status === 403) ? effect : undefined;
      const failure = readFailure(answer, { earlier, effect: mayBeDone() ? effect : effectOf(answer, effect) });
      if (failure instanceof Refusal && failure.mayBeDone && method === 'DELETE' && status === 404) return answer;
      const requestedMs = retryAfterMs(headers);
      const reason = failure instanceof Refusal ? failure.details.reason : undefined;
      const isUnavailable = status === 503 && reason !== 'paused';
      if (status === 429) {
        const ms = Math.max(requestedMs ?? pauseMs(++refusals), firstPauseMs);
        const words = failure instanceof Refusal ? describeUsedUp(failure) : 'The rate limit is used up';
        // a full queue of deferred calls does not block other calls
        if (intentUid !== undefined && reason !== 'waiting_calls') quota.noteWait(intentUid, ms, words);
        await wait(ms, new RateLimited(ms, words, failure));
      } else if (isUnavailable || (status === 504 && intentUid === undefined) || (status === 409 && reason === 'running')) {
        isLost ||= reason === 'running' || (status >= 500 && !(failure instanceof Refusal && failure.details.outcome === 'not_sent'));
        await retry(failure, requestedMs);
      } else {
        throw failure;
      }
    }
  }

  return { url, exchange, send, now: () => Date.now() + clockOffsetMs };
}

/** Codes of failures before a connection is made: to the gate or its proxy, of TLS, and of the proxy. */
const unsent =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|E(HOST|NET)UNREACH|EPROTO|UND_ERR_CONNECT_TIMEOUT|UNABLE_TO_\w+|\w*CERT\w*|ERR_(PROXY|TLS|SSL_(?!DECRYPTION|BAD_RECORD))[\w/]*)$/;

interface Failure {
  code?: unknown;
  syscall?: unknown;
  /** of an attempt at each address of a host */
  errors?: Failure[];
  /** `fetch` wraps the error that has the code */
  cause?: Failure;
}

/** Whether it is certain that no connection was made, so that nothing was sent. Some codes also occur while reading and writing. */
function isUnsent(error: unknown): boolean {
  const { code, syscall, cause } = (error ?? {}) as Failure;
  const call = syscall ?? cause?.syscall ?? cause?.errors?.[0]?.syscall;
  return call === 'connect' || (call !== 'read' && call !== 'write' && unsent.test(String(code ?? cause?.code)));
}

/** What a request may have caused although its answer is not a gate's. A proxy that refuses or redirects a request has not sent it on. */
export const effectOf = ({ status }: { status: number }, effect: Effect | undefined): Effect | undefined =>
  status < 300 || status >= 500 ? effect : undefined;

/** Exponential backoff up to 8 s, give or take 50 %. */
const pauseMs = (failures: number): number => Math.min(firstPauseMs * 2 ** (failures - 1), 8_000) * (0.5 + Math.random());

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function parseText(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Parses Retry-After (RFC 9110 section 10.2.3), which has seconds or a date. */
function retryAfterMs(headers: Headers, { retry_after_seconds: seconds }: Record<string, unknown> = {}): number | undefined {
  const field = headers.get('retry-after');
  // a deferred call has its outcome without headers
  if (field === null) return typeof seconds === 'number' ? seconds * 1000 : undefined;
  if (/^\d+$/.test(field)) return Number(field) * 1000;
  const date = Date.parse(field);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

interface MayBeDone {
  /** what an earlier attempt may have caused, of which this answer says nothing */
  earlier?: Effect | undefined;
  /** what the request may have caused if this is not the answer of a gate */
  effect?: Effect | undefined;
}

export function readFailure(answer: Exchange, { earlier, effect }: MayBeDone = {}): Refusal | UnexpectedAnswer {
  const { status, headers, body } = answer;
  const error = isObject(body) ? body.error : undefined;
  if (status < 400 || !isObject(error) || typeof error.code !== 'string' || typeof error.message !== 'string')
    return new UnexpectedAnswer(answer, effect);
  const details = isObject(error.details) ? error.details : {};
  return new Refusal({
    status,
    code: error.code as GateErrorCode,
    message: earlier ? `${error.message} An earlier attempt may have made the ${earlier}.` : error.message,
    mayBeDone: earlier !== undefined,
    details,
    requestId: headers.get('x-request-id') ?? (typeof details.request_id === 'string' ? details.request_id : undefined),
    retryAfterMs: retryAfterMs(headers, details),
  });
}

/** @throws the signal's reason */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
