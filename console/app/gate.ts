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
    if (as && isUnauthorized(error) && (await requireSession())) return send();
    throw error;
  });
  const [, next] = /<[^>?]*\?([^>]*)>;\s*rel="next"/.exec(answer.headers.get('link') ?? '') ?? [];
  return {
    value: answer.body as T,
    etag: answer.headers.get('etag') ?? undefined,
    next: next === undefined ? undefined : Object.fromEntries(new URLSearchParams(next)),
  };
}

/** Maximum number of pages to read of a list. */
const maxPages = 50;

/**
 * Reads all pages of a list.
 * @throws IntentGateError
 */
export async function readAll<T>(path: string, query: Record<string, string>, as?: 'admin'): Promise<T[]> {
  const pages: T[] = [];
  let next: Record<string, string> | undefined = query;
  while (next && pages.length < maxPages) {
    const answer: Answered<T> = await ask<T>('GET', path, { query: next, ...(as && { as }) });
    pages.push(answer.value);
    next = answer.next;
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
  override readonly message = 'Your sign-in has ended. Nothing is lost: sign in again, then try again.';
}

export const isUnauthorized = (error: unknown): boolean => error instanceof Refusal && error.status === 401;

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

interface Work<T> {
  answer?: T;
  error?: unknown;
  reload(): void;
}

/** Does work, and repeats it when its inputs change. Returns the previous result until the new one is available. */
export function useWork<T>(work: () => Promise<T>, inputs: readonly unknown[] = []): Work<T> {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{ answer?: T; error?: unknown }>({});
  useEffect(() => {
    let isOld = false;
    work().then(
      (answer) => isOld || setState({ answer }),
      (error: unknown) => isOld || setState({ error }),
    );
    return () => {
      isOld = true;
    };
  }, [...inputs, round]);
  return { ...state, reload: () => setRound((before) => before + 1) };
}

export interface Reading<T> {
  answer: Answered<T> | undefined;
  error: unknown;
  isLoading: boolean;
  reload(): void;
}

/** Reads a resource, and reads again when path or query change. Returns the previous answer until the new one is available. */
export function useRead<T>(path: string | undefined, query: Record<string, string> = {}, as?: 'admin'): Reading<T> {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{ answer?: Answered<T>; error?: unknown; isLoading: boolean }>({ isLoading: true });
  const asked = JSON.stringify([path, query, as]);
  useEffect(() => {
    if (path === undefined) return undefined;
    const giveUp = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    ask<T>('GET', path, { query, signal: giveUp.signal, ...(as && { as }) }).then(
      (answer) => setState({ answer, isLoading: false }),
      (error) => {
        if (!giveUp.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => giveUp.abort();
  }, [asked, round]);
  const isWaiting = state.error instanceof SignInEnded;
  // after the session has ended, read again as soon as somebody has signed in
  useLayoutEffect(
    () => (isWaiting ? session.subscribe(() => accessToken() !== undefined && setRound((before) => before + 1)) : undefined),
    [isWaiting],
  );
  return { answer: state.answer, error: state.error, isLoading: state.isLoading, reload: () => setRound((before) => before + 1) };
}
