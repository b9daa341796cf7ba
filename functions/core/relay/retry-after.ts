import type { IncomingHttpHeaders } from 'node:http';

/** Longest time that is passed on, in seconds. */
const maxSeconds = 3_600;

/** What is passed on if a service that is busy does not say, in seconds. */
const usualSeconds = 5;

/**
 * How long to wait before a refused call is sent again, in whole seconds from 1 to 3600: what `Retry-After` says (RFC 9110 section 10.2.3) or `Retry-After-Ms`, else when
 * the rate limit that is used up is reset.
 * @returns undefined if the answer does not say, and is not 429
 */
export function retryAfterSeconds(status: number, headers: IncomingHttpHeaders): number | undefined {
  const isBusy = status === 429;
  const field = headers['retry-after'];
  const ms = readNumber(headers['retry-after-ms']);
  const said = readNumber(field) ?? secondsUntil(field) ?? (ms === undefined ? secondsUntilReset(headers, isBusy) : ms / 1_000);
  const seconds = said ?? (isBusy || field !== undefined ? usualSeconds : undefined);
  return seconds === undefined ? undefined : Math.min(Math.max(Math.ceil(seconds), 1), maxSeconds);
}

type Field = string | string[] | undefined;

const readNumber = (field: Field): number | undefined =>
  typeof field === 'string' && /^\d+(\.\d+)?$/.test(field) ? Number(field) : undefined;

/** @param field - a date of HTTP or ISO 8601 */
function secondsUntil(field: Field): number | undefined {
  const date = String(field).replace(/:\d\d \d{4}$/, '$& GMT'); // the form of asctime names no zone
  const seconds = /(?:GMT|UTC|[+-]\d{4})$|^\d{4}-\d\d-\d\dT/.test(date) ? (Date.parse(date) - Date.now()) / 1_000 : Number.NaN;
  return Number.isNaN(seconds) ? undefined : seconds;
}

interface Limit {
  /** remaining calls, if given */
  left: number | undefined;
  /** until there are more */
  seconds: number | undefined;
}

/** @param isBusy - the answer is 429, so a limit is used up, whatever the fields say */
function secondsUntilReset(headers: IncomingHttpHeaders, isBusy: boolean): number | undefined {
  const limits = [
    ...readRateLimit(headers.ratelimit),
    ...['ratelimit', 'x-ratelimit', 'x-rate-limit'].map((name) => readLimit(headers, name)),
  ];
  const secondsOf = (some: Limit[]) => some.flatMap(({ seconds }) => seconds ?? []);
  const spent = secondsOf(limits.filter(({ left = 0 }) => left === 0));
  if (spent.length > 0) return Math.max(...spent);
  return isBusy && secondsOf(limits).length > 0 ? Math.min(...secondsOf(limits)) : undefined;
}

/** Reads `RateLimit` in the forms `"default";r=0;t=77` and `limit=10, remaining=0, reset=77` (draft-ietf-httpapi-ratelimit-headers). */
function readRateLimit(field: Field): Limit[] {
  const text = String(field);
  return (/\breset=/.test(text) ? [text] : text.split(',')).map((item) => ({
    left: readNumber(/\b(?:r|remaining)=(\d+)/.exec(item)?.[1]),
    seconds: readNumber(/\b(?:t|reset)=(\d+)/.exec(item)?.[1]),
  }));
}

/** Earliest number that is a time since the epoch, in seconds or milliseconds; a smaller number is a duration in seconds. */
const epochSeconds = 1e9;
const epochMs = 1e12;

function readLimit(headers: IncomingHttpHeaders, name: string): Limit {
  const reset = headers[`${name}-reset`];
  const number = readNumber(reset);
  const time = number === undefined || number < epochSeconds ? undefined : number < epochMs ? number * 1_000 : number;
  return {
    left: readNumber(headers[`${name}-remaining`]),
    seconds: time === undefined ? (number ?? secondsUntil(reset)) : (time - Date.now()) / 1_000,
  };
}
