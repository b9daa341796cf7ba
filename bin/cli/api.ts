import { Refusal } from '../../client/errors.ts';
import { type Exchange, type ExchangeOptions, openHttp } from '../../client/http.ts';
import { parseExact } from '../../schemas/number.ts';
import { CliFailure } from './failure.ts';

export interface Tokens {
  /** the admin's access token; renewed if it is about to expire. `renew` asks for another one in any case */
  get(renew?: boolean): Promise<string>;
}

export interface ApiCallOptions extends ExchangeOptions {
  /** sends the admin's token; `if signed in`: a read that shows more to admins, and is repeated without the token if that is refused */
  isAdmin?: boolean | 'if signed in';
}

export type Api = ReturnType<typeof openApi>;

/** Registries are large, and someone who changes many intents would rather wait for the gate than begin again. */
const patience = { maxAttempts: 8, maxWaitMs: 600_000, isRetriedUnseen: false };

export function openApi(baseUrl: string, tokens: Tokens, sleep?: (ms: number) => Promise<unknown>) {
  const http = openHttp({ url: baseUrl, ...patience, parse: parseExact, sleep });
  return {
    baseUrl,
    http,
    /**
     * Calls the gate. Anything that means "later" (429, 503, 504, a broken connection) is tried again after the time that the gate names.
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
        const isRefused = error instanceof Refusal ? [401, 403].includes(error.status) : error instanceof CliFailure;
        if (isAdmin !== true && isRefused) return anonymously();
        throw error;
      }
    },
  };
}
