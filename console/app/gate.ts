import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Refusal, Unreachable } from '../../client/errors.ts';
import { type Api, type ApiCallOptions, nextQuery, openApi } from '../../registry/api.ts';
import type { ServiceList } from '../../schemas/service.ts';
import { deployment } from './deployment.ts';
import { accessToken, awaitSession, hasTokenEnded, renewSession, session } from './session.ts';
import { openStore } from './store.ts';

/** The base URL of the gate; the page is at `/console` below it. */
export const gateUrl = new URL('.', location.href).href.replace(/\/$/, '');

/**
 * The signed-in admin's token, renewed if it has expired.
 * @throws SignInEnded if the admin must sign in again
 */
async function readToken(renew = false): Promise<string> {
  if (renew || hasTokenEnded()) await renewSession();
  const token = accessToken();
  if (token === undefined) throw new SignInEnded();
  return token;
}

/** Sends each request once: the user decides whether to repeat it. */
export const api: Api = openApi(
  gateUrl,
  { get: readToken },
  // an answer that the browser has kept has an old date
  { maxAttempts: 1, maxWaitMs: 0, fetch: (address, request) => fetch(address, { ...request, cache: 'no-store' }) },
);

/**
 * `exchange` sends a request once, and returns the response whatever its status. `now` is the time of the gate's clock, in milliseconds since the epoch.
 */
export const { exchange, now: gateNow } = api.http;

/** The API client of the command line. If the session ends, it waits until the same person has signed in again, and then continues. */
export function openAdminApi(): Api {
  const owner = session.get()?.userName;
  return openApi(gateUrl, {
    async get(renew) {
      const token = await readToken(renew).catch(() => awaitSession().then(() => readToken()));
      if (session.get()?.userName !== owner) throw new SignInEnded();
      return token;
    },
  });
}

/** The PAT of this page, once it has one. */
export const pagePat = openStore<string | undefined>(undefined);

/** Who asks, in a gate that shows callers only what they may execute. */
const viewerToken = (): string | undefined => (deployment.hidesIntents ? (accessToken() ?? pagePat.get()) : undefined);

export interface Answered<T> {
  value: T;
  /** entity tag of the record, to send as `If-Match` */
  etag: string | undefined;
  /** query of the next page, if any */
  next: Record<string, string> | undefined;
}

/**
 * Sends a request to the gate.
 * @throws IntentGateError, SignInEnded, or Unanswered if a change may have been made
 */
export async function ask<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, options?: ApiCallOptions): Promise<Answered<T>> {
  const bearer = method === 'GET' ? viewerToken() : undefined;
  const { body, headers } = await api.call(method, path, { ...(bearer && { bearer }), ...options }).catch((error: unknown) => {
    throw (error as Partial<Unreachable>).effect ? new Unanswered('Reload the page before you make the change again.') : error;
  });
  return { value: body as T, etag: headers.get('etag') ?? undefined, next: nextQuery(headers) };
}

/** Nothing was done, because the session has ended. */
export class SignInEnded extends Error {
  override readonly name = 'SignInEnded';
  override readonly message = 'Your session has ended. Nothing is lost: sign in again, then try again.';
}

/** No answer has arrived to a request that may have had its effect. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';

  /** @param next - what to do now */
  constructor(next: string) {
    super(`The gate has not answered, but may have done what you asked for. ${next}`);
  }
}

/** Describes an error for users. */
export function describeFailure(error: unknown): string {
  // only the first line, because the service's response is shown separately
  if (error instanceof Refusal)
    return (error.message.split('\n', 1)[0] ?? '')
      .replace('with GET /api/intents/search', 'with the search')
      .replace(' details.upstream_body says why.', '');
  if (error instanceof Unreachable) return 'The gate does not answer. Nothing is lost: try again.';
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
  useWork((signal) => ask<T>('GET', path, { query, signal, isAdmin: as === 'admin' }), [JSON.stringify([path, query, as]), viewerToken()]);

/** Does work repeatedly, and whenever the page becomes visible, but never while it is hidden. */
export function useWhileVisible(work: () => void, everyMs: number): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const look = () => document.hidden || latest.current();
    const timer = setInterval(look, everyMs);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [everyMs]);
}

/** Reads all pages of a list. */
export async function readAll<Page, Item>(
  path: string,
  itemsOf: (page: Page) => readonly Item[],
  options: { query?: Record<string, string>; signal?: AbortSignal; isAdmin?: boolean } = {},
): Promise<Item[]> {
  const items: Item[] = [];
  for (let query: Record<string, string> | undefined = { ...options.query, page_size: '100' }; query; ) {
    const { value, next }: Answered<Page> = await ask<Page>('GET', path, { ...options, query });
    items.push(...itemsOf(value));
    query = next;
  }
  return items;
}

export const useAll = <Page, Item>(path: string, itemsOf: (page: Page) => readonly Item[], as?: 'admin'): Work<Item[]> =>
  useWork((signal) => readAll(path, itemsOf, { signal, isAdmin: as === 'admin' }), [path, as, viewerToken()]);

export const useServices = (as?: 'admin') => useAll('/api/services', ({ services }: ServiceList) => services, as);
