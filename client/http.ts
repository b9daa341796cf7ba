import { RateLimited, Refusal, UnexpectedAnswer, Unreachable } from './errors.ts';

export interface HttpOptions {
  /** address of the service, without a slash at its end */
  url: string;
  fetch: typeof fetch;
  /** how often a request is sent at most */
  attempts: number;
  /** how long a request may wait for quota or for a service that is away, in all, in milliseconds */
  waitAtMostMs: number;
  /** how long one attempt may take, in milliseconds */
  timeoutMs: number;
}

interface Prepared {
  headers?: Record<string, string>;
  body?: object;
}

export interface Call {
  method: 'GET' | 'POST';
  /** with query */
  path: string;
  /** made anew for every attempt: what is signed for one request is worthless for another */
  prepare?(): Promise<Prepared>;
  signal?: AbortSignal | undefined;
  /** counts against the rate limit of executions */
  usesQuota?: boolean;
}

export interface Http {
  /** @throws Refusal, RateLimited, Unreachable, UnexpectedAnswer, or the signal's reason */
  send(call: Call): Promise<unknown>;
  /** the service's time, as far as its answers tell, in milliseconds since the epoch */
  now(): number;
}

interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

const firstPauseMs = 250;

/** Sends requests until they are answered: again where nothing answered or the service is away, later where quota is used up. */
export function openHttp({ url, fetch, attempts, waitAtMostMs, timeoutMs }: HttpOptions): Http {
  let clockOffsetMs = 0;
  /** no execution is worth sending before */
  let quotaAtMs = 0;

  async function attempt({ method, path, signal }: Call, { headers, body }: Prepared): Promise<Answer> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { Accept: 'application/json', ...(body && { 'Content-Type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    });
    const date = Date.parse(response.headers.get('date') ?? '');
    if (!Number.isNaN(date)) clockOffsetMs = date - Date.now();
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parseJson(text) };
  }

  /** @throws the signal's reason */
  async function send(call: Call): Promise<unknown> {
    const { signal, usesQuota = false } = call;
    let waitedMs = 0;
    let failures = 0;
    const wait = async (ms: number, refuse: () => Error) => {
      waitedMs += ms;
      if (waitedMs > waitAtMostMs) throw refuse();
      await sleep(ms, signal);
    };

    for (;;) {
      signal?.throwIfAborted();
      const early = usesQuota ? quotaAtMs - Date.now() : 0;
      if (early > 0) await wait(early, () => new RateLimited(early));
      const prepared = (await call.prepare?.()) ?? {};
      let answer: Answer;
      try {
        answer = await attempt(call, prepared);
      } catch (cause) {
        signal?.throwIfAborted();
        failures++;
        if (failures >= attempts) throw new Unreachable(failures, cause);
        await wait(pauseMs(failures), () => new Unreachable(failures, cause));
        continue;
      }
      const { status, headers, body } = answer;
      if (usesQuota) quotaAtMs = Math.max(quotaAtMs, Date.now() + quotaPauseMs(headers));
      if (status < 300 && isObject(body)) return body;

      const refusal = readRefusal(answer);
      if (status === 429) {
        const ms = refusal.retryAfterMs ?? firstPauseMs;
        if (usesQuota) quotaAtMs = Math.max(quotaAtMs, Date.now() + ms);
        await wait(ms, () => new RateLimited(ms, refusal));
      } else if (status === 503 || (status === 409 && refusal.details.reason === 'running')) {
        failures++;
        if (failures >= attempts) throw refusal;
        await wait(refusal.retryAfterMs ?? pauseMs(failures), () => refusal);
      } else {
        throw refusal;
      }
    }
  }

  return { send, now: () => Date.now() + clockOffsetMs };
}

/** Twice as long each time, give or take a half, so that many clients do not come back at once. */
const pauseMs = (failures: number): number => firstPauseMs * 2 ** (failures - 1) * (0.5 + Math.random());

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How long to wait before the next execution: with nothing remaining, until there is (draft-ietf-httpapi-ratelimit-headers). */
function quotaPauseMs(headers: Headers): number {
  const [, remaining, seconds] = /;r=(\d+);t=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? [];
  return remaining === '0' ? Number(seconds) * 1000 : 0;
}

/** RFC 9110 section 10.2.3: seconds or a date. */
function retryAfterMs(headers: Headers): number | undefined {
  const field = headers.get('retry-after');
  if (field === null) return undefined;
  if (/^\d+$/.test(field)) return Number(field) * 1000;
  const date = Date.parse(field);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** @throws UnexpectedAnswer where the answer has not the form of an error of the service */
function readRefusal({ status, headers, body }: Answer): Refusal {
  const error = isObject(body) ? body.error : undefined;
  if (status < 400 || !isObject(error) || typeof error.code !== 'string' || typeof error.message !== 'string')
    throw new UnexpectedAnswer(status);
  const details = isObject(error.details) ? error.details : {};
  return new Refusal({
    status,
    code: error.code,
    message: error.message,
    details,
    requestId: headers.get('x-request-id') ?? (typeof details.request_id === 'string' ? details.request_id : undefined),
    retryAfterMs: retryAfterMs(headers),
  });
}

/** @throws the signal's reason */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
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
