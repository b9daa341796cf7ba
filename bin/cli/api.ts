import { Refusal } from '../../client/errors.ts';
import { type Exchange, type ExchangeOptions, openHttp } from '../../client/http.ts';

export interface Tokens {
  /** the admin's access token; renewed if it is about to expire. `renew` asks for another one in any case */
  get(renew?: boolean): Promise<string>;
}

export interface ApiCallOptions extends ExchangeOptions {
  /** sends the admin's token */
  isAdmin?: boolean;
}

export type Api = ReturnType<typeof openApi>;

/** Registries are large, and someone who changes many intents would rather wait for the gate than begin again. */
const patience = { maxAttempts: 8, maxWaitMs: 600_000, isRetriedUnseen: false };

export function openApi(baseUrl: string, tokens: Tokens, sleep?: (ms: number) => Promise<unknown>) {
  const http = openHttp({ url: baseUrl, ...patience, sleep });
  return {
    baseUrl,
    http,
    /**
     * Calls the gate. Anything that means "later" (429, 503, 504, a broken connection) is tried again after the time that the gate names.
     * @throws IntentGateError
     */
    async call(method: string, path: string, { isAdmin = false, ...options }: ApiCallOptions = {}): Promise<Exchange> {
      const send = async (renew: boolean) => http.send(method, path, { ...options, ...(isAdmin && { bearer: await tokens.get(renew) }) });
      try {
        return await send(false);
      } catch (error) {
        if (!isAdmin || !(error instanceof Refusal) || error.status !== 401) throw error;
        return send(true);
      }
    },
  };
}
