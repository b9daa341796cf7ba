import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { IntentGateError, Refusal } from '../../client/errors.ts';
import { openHttp, type SendOptions } from '../../client/http.ts';
import { parseExact } from '../../schemas/number.ts';
import { accessToken, hasTokenEnded, renewSession, session } from './session.ts';

/** The base URL of the gate; the page is at `/console` below it. */
export const gateUrl = new URL('.', location.href).href.replace(/\/$/, '');

/** Sends each request once: the user decides whether to repeat it. */
const http = openHttp({ url: gateUrl, maxAttempts: 1, maxWaitMs: 0, parse: parseExact });

/** Sends a request once, and returns the response whatever its status. */
export const { exchange } = http;

export interface Answered<T> {
  value: T;
  /** entity tag of the record, to send as `If-Match` */
  etag: string | undefined;
  /** query of the next page, if any */
  next: Record<string, string> | undefined;
}

export interface Asked extends Pick<SendOptions, 'query' | 'headers' | 'body' | 'signal'> {
  /** sends the signed-in admin's token */
  as?: 'admin';
}

/**
 * Sends a request to the gate.
 * @throws IntentGateError
 */
export async function ask<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, { as, ...given }: Asked = {}): Promise<Answered<T>> {
  const send = async () => http.send(method, path, { ...given, ...(as && { headers: { ...given.headers, ...authorization() } }) });
  // renew first, because some reads succeed without a valid token but return less
  if (as && session.get() !== undefined && hasTokenEnded()) await requireSession();
  const answer = await send().catch(async (error: unknown) => {
    if (as && error instanceof Refusal && error.status === 401 && (await requireSession())) return send();
    throw error;
  });
  const [, next] = /<[^>?]*\?([^>]*)>;\s*rel="next"/.exec(answer.headers.get('link') ?? '') ?? [];
  return {
    value: answer.body as T,
    etag: answer.headers.get('etag') ?? undefined,
    next: next === undefined ? undefined : Object.fromEntries(new URLSearchParams(next)),
  };
}

/**
 * Reads all pages of a list.
 * @throws IntentGateError
 */
export async function readAll<T>(path: string, options: Pick<Asked, 'query' | 'as' | 'signal'>): Promise<T[]> {
  const pages: T[] = [];
  for (let query = options.query; query; ) {
    const { value, next }: Answered<T> = await ask<T>('GET', path, { ...options, query });
    pages.push(value);
    query = next;
  }
  return pages;
}

function authorization(): Record<string, string> {
  const token = accessToken();
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

/** @returns false if no new token is available now @throws SignInEnded if the admin must sign in again */
async function requireSession(): Promise<boolean> {
  const isRenewed = await renewSession();
  if (session.get() !== undefined && accessToken() === undefined) throw new SignInEnded();
  return isRenewed;
}

/** Nothing was done, because the session has ended. */
export class SignInEnded extends Error {
  override readonly name = 'SignInEnded';
  override readonly message = 'Your session has ended. Nothing is lost: sign in again, then try again.';
}

/** Describes an error for users. */
export function describeFailure(error: unknown): string {
  // only the first line, because the service's response is shown separately
  if (error instanceof Refusal)
    return (error.message.split('\n', 1)[0] ?? '')
      .replace('with GET /api/intents/search', 'with the search')
      .replace(' details.upstream_body says why, if the endpoint gave a reason.', '');
  if (error instanceof IntentGateError && error.code === 'UNREACHABLE') return 'The gate does not answer. Nothing is lost: try again.';
  return error instanceof Error ? error.message : String(error);
}

export interface Work<T> {
  answer?: T;
  error?: unknown;
  isLoading: boolean;
  reload(): void;
}

/** Does work, and repeats it when its inputs change. Returns the previous result until the new one is available. */
export function useWork<T>(work: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[] = []): Work<T> {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<Omit<Work<T>, 'reload'>>({ isLoading: true });
  const reload = () => setRound((before) => before + 1);
  useEffect(() => {
    const giveUp = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    work(giveUp.signal).then(
      (answer) => giveUp.signal.aborted || setState({ answer, isLoading: false }),
      (error: unknown) => giveUp.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
    );
    return () => giveUp.abort();
  }, [...inputs, round]);
  const isWaiting = state.error instanceof SignInEnded;
  // after the session has ended, work again as soon as somebody has signed in
  useLayoutEffect(() => (isWaiting ? session.subscribe(() => accessToken() !== undefined && reload()) : undefined), [isWaiting]);
  return { ...state, reload };
}

/** Reads a resource, and reads again when path or query change. */
export const useRead = <T>(path: string, query: Record<string, string> = {}, as?: 'admin'): Work<Answered<T>> =>
  useWork((signal) => ask<T>('GET', path, { query, signal, ...(as && { as }) }), [JSON.stringify([path, query, as])]);
