import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import type { Entry } from '../receipts/entries.ts';
import { answerUsedKey } from './idempotency-key.ts';
import type { IdempotentCalls, KeyedRequest } from './idempotent-call.ts';
import type { Outcome } from './outcome.ts';
import type { Replays } from './replay-meter.ts';

export interface Attempt {
  /** the upstream may have acted, so the call is never made again under this key */
  mayHaveActed: boolean;
  /** an {@link ApiResponse}, or what was thrown: an ApiError is a refusal, anything else a fault of the gate */
  result: unknown;
  /** if one is given: its headers, and what of it is kept together with the outcome */
  receipt?: { headers: Record<string, string>; entry: Entry };
}

export interface OnceOptions {
  keyed: KeyedRequest | undefined;
  /** limits how many stored answers this agent gets, and remembers keys that have one */
  replays: Replays | undefined;
  /** Throws the refusal of a new call, if it is known before anything is written. */
  precheck(): Promise<void>;
  /** Checks that the request itself is not a replay. Called before anything is written or answered, perhaps twice, which counts once. */
  useProof(): Promise<void>;
  baseUrl: string;
}

/**
 * Attempts a call at most once for each idempotency key, whatever the parallelism. The outcome, a refusal by the upstream too, is kept for the
 * requests that follow; if the upstream cannot have acted, the key is free again. If this process dies in between, the key's outcome stays unknown.
 */
export async function once(calls: IdempotentCalls, options: OnceOptions, attempt: () => Promise<Attempt>): Promise<ApiResponse> {
  const { keyed, precheck, useProof } = options;
  if (!keyed) {
    await precheck();
    await useProof();
    return answer((await attempt()).result);
  }
  const earlier = await takeKey(calls, { ...options, keyed }, () => calls.begin(keyed));
  if (earlier) return earlier;
  const attempted = await attempt();
  const { mayHaveActed, result, receipt } = attempted;
  const receipted = withReceipt(attempted);
  if (!mayHaveActed) await calls.abandon(keyed);
  else if (isOutcome(receipted) && (await calls.finish(keyed, receipted, receipt?.entry))) return answer(receipted);
  return answer(result);
}

/**
 * Takes the key of a request for a new call. A request that is refused by what is known already costs no write.
 * @param begin - claims the key
 * @returns undefined if the call may be made, else what the key's first request is answered
 */
export async function takeKey(
  calls: Pick<IdempotentCalls, 'find'>,
  { keyed, baseUrl, replays, precheck, useProof }: OnceOptions & { keyed: KeyedRequest },
  begin: () => ReturnType<IdempotentCalls['begin']>,
): Promise<ApiResponse | undefined> {
  const tooMany = replays?.findRefusal();
  if (tooMany && replays?.hasSeen(keyed.key)) throw tooMany;
  // read before written: a write that fails is paid for by the size of the record
  const found = await calls.find(keyed);
  const begun = found.state === 'free' ? await beginNew() : found;
  if (begun.state === 'started') return undefined;
  // the key of a call that runs may be free again
  if (!['running', 'waiting', 'working'].includes(begun.state)) replays?.see(keyed.key);
  if (tooMany) throw tooMany;
  await useProof();
  replays?.count();
  return answerUsedKey(begun, baseUrl);

  async function beginNew() {
    await precheck();
    await useProof();
    return begin();
  }
}

/** Whether the result of an attempt can be stored: anything but a fault of the gate. */
export const isOutcome = (result: unknown): result is Outcome => !(result instanceof Error) || result instanceof ApiError;

/** The result with the headers of its receipt. */
export function withReceipt({ result, receipt }: Attempt): unknown {
  if (!receipt || !isOutcome(result)) return result;
  const { headers } = receipt;
  return result instanceof ApiError ? result.withHeaders(headers) : { ...result, headers: { ...result.headers, ...headers } };
}

/** Answers with the result of an attempt, or throws it. */
export function answer(result: Attempt['result']): ApiResponse {
  if (result instanceof Error) throw result;
  return result as ApiResponse;
}
