import type * as z from 'zod';
import { Refusal, UnexpectedAnswer } from '../client/errors.ts';
import { type Exchange, type ExchangeOptions, type HttpOptions, openHttp } from '../client/http.ts';
import { parseExact } from '../schemas/number.ts';
import { NotSignedIn } from './failure.ts';

export interface Tokens {
  /** Returns the admin's access token, renewed if it is about to expire or `renew` is set. */
  get(renew?: boolean): Promise<string>;
}

export interface ApiCallOptions extends ExchangeOptions {
  /**
   * Sends the admin's token. With `if signed in`, a read is made without it if there is none or its owner is no admin; a session that has ended fails,
   * because drafts would seem missing.
   */
  isAdmin?: boolean | 'if signed in';
}

export type Api = ReturnType<typeof openApi>;

/** Retries long enough for large changes to get past rate limits. */
const retryOptions = { maxAttempts: 8, maxWaitMs: 600_000, isRetriedUnseen: false };

export function openApi(baseUrl: string, tokens: Tokens, options?: Partial<HttpOptions>) {
  const http = openHttp({ url: baseUrl, ...retryOptions, parse: parseExact, ...options });
  return {
    baseUrl,
    http,
    /**
     * Calls the gate. Retries 429, 503, 504 and broken connections, after the delay in Retry-After if there is one.
     * @throws IntentGateError
     */
    async call(method: string, path: string, { isAdmin = false, ...options }: ApiCallOptions = {}): Promise<Exchange> {
      const anonymously = () => http.send(method, path, options);
      if (!isAdmin) return anonymously();
      const send = async (renew: boolean) => http.send(method, path, { ...options, bearer: await tokens.get(renew) });
      try {
        return await send(false).catch((error: unknown) => {
          if (!(error instanceof Refusal) || error.status !== 401) throw error;
          return send(true);
        });
      } catch (error) {
        const isNobody = error instanceof NotSignedIn || (error instanceof Refusal && error.status === 403);
        if (isAdmin !== true && isNobody) return anonymously();
        throw error;
      }
    },
  };
}

export interface Progress {
  step(): void;
  end(): void;
}

export interface RegistryContext {
  readonly api: Api;
  /** start of a message's last sentence, saying how to compare again; default: `Run the command again` */
  readonly again?: string;
  terminal: {
    progress(what: string, total: number): Progress;
    /** Until `end`, the first Ctrl-C only sets a flag. */
    watchInterrupt?(): { isInterrupted(): boolean; end(): void };
  };
}

/** The query of the next page (RFC 8288). Only the query is used, because the link may have another address of the gate. */
export function nextQuery(headers: Headers): Record<string, string> | undefined {
  const [, target = ''] = /<([^>]*)>;\s*rel="next"/.exec(headers.get('link') ?? '') ?? [];
  const url = URL.parse(target);
  return url === null ? undefined : Object.fromEntries(url.searchParams);
}

/** @throws UnexpectedAnswer if the body does not match the schema */
export function readAnswer<T extends z.ZodType>(schema: T, answer: Exchange): z.output<T> {
  const { success, data } = schema.safeParse(answer.body);
  if (!success) throw new UnexpectedAnswer(answer);
  return data;
}
