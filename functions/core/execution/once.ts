import type { ApiResponse } from '../http/response.ts';
import { ApiError } from '../runtime/api-error.ts';
import type { Write } from '../table/table.ts';
import { answerUsedKey } from './idempotency-key.ts';
import type { IdempotentCalls, KeyedRequest, Outcome, UsedKey } from './idempotent-call-store.ts';
import type { Replays } from './replay-meter.ts';

/** The result of an attempt. */
export interface Attempted {
  /** whether the upstream may have acted, so that the call must never be repeated under this key */
  mayHaveActed: boolean;
  /** an {@link ApiResponse} or a thrown error: an ApiError is a refusal, anything else a fault of the gate */
  result: unknown;
  /** what features add: headers of the answer, and writes that are stored with the outcome, both or neither */
  added?: { headers: Record<string, string>; writes: readonly Write[] };
}

/** What may stop a call before its key is claimed. */
export interface EarlyGuards {
  /** limits replays per agent, and caches which keys have a stored answer; undefined without a rate */
  replays: Replays | undefined;
  /** Throws if a new call would be refused, before anything is written. */
  precheck(): Promise<void>;
  /** Checks that the request itself is not a replay, before anything is written or answered. Idempotent. */
  useProof(): Promise<void>;
}

/** What is known of a call under a key. */
interface KnownCall<Keyed = KeyedRequest | undefined> {
  keyed: Keyed;
  /** of an immediate call: the key under which the same call may have been deferred before, when it still needed approval */
  earlier?: KeyedRequest | undefined;
  /** the gate's address, for the answer about a deferred call */
  baseUrl: string;
}

/**
 * Attempts a call at most once per idempotency key, whatever the concurrency. The outcome, even a refusal by the upstream, is stored for later
 * requests; if the upstream cannot have acted, the key is freed. If the process dies during the attempt, the outcome stays unknown.
 */
export async function once(
  calls: IdempotentCalls,
  { keyed, earlier, baseUrl }: KnownCall,
  guards: EarlyGuards,
  attempt: () => Promise<Attempted>,
): Promise<ApiResponse> {
  const before = earlier && (await takeKey(calls, { keyed: earlier, baseUrl }, guards, async () => ({ state: 'started' })));
  if (before) return before;
  if (!keyed) {
    await guards.precheck();
    await guards.useProof();
    const attempted = await attempt();
    return answerOrThrow((await calls.keep(attempted.added?.writes)) ? withAdded(attempted) : attempted.result);
  }
  const used = await takeKey(calls, { keyed, baseUrl }, guards, () => calls.begin(keyed));
  if (used) return used;
  const attempted = await attempt();
  const { mayHaveActed, result, added } = attempted;
  const outcome = withAdded(attempted);
  // the service has not acted (nothing was sent, or it answered 429): the key is freed, and the headers of features are dropped
  if (!mayHaveActed) await calls.abandon(keyed);
  // the outcome is stored for later requests
  else if (isOutcome(outcome) && (await calls.finish(keyed, outcome, added?.writes))) return answerOrThrow(outcome);
  // a fault of the gate, or an outcome that could not be stored, leaves the key `running`, and later `unknown`
  return answerOrThrow(result);
}

/**
 * Claims the key of a request for a new call. A request that the precheck refuses costs no write.
 * @param begin - claims the key
 * @returns undefined if the call may be made, else the answer to the key's first request
 */
export async function takeKey(
  calls: Pick<IdempotentCalls, 'find' | 'free'>,
  { keyed, baseUrl }: KnownCall<KeyedRequest>,
  { replays, precheck, useProof }: EarlyGuards,
  begin: () => ReturnType<IdempotentCalls['begin']>,
): Promise<ApiResponse | undefined> {
  const tooMany = replays?.findRefusal();
  if (tooMany && replays?.knowsKey(keyed.key)) throw tooMany;
  // read first, because a failed write is billed by the size of the record
  const found = await calls.find(keyed);
  const begun = found.state === 'free' ? await beginNew() : found;
  if (begun.state === 'started') return undefined;
  // not cached while the key may be freed
  const isUnfinished = ['running', 'waiting', 'working'].includes(begun.state) || freesKeyOf(begun) !== undefined;
  if (!isUnfinished && !keyed.isFreedByAnswer) replays?.rememberKey(keyed.key);
  if (tooMany) throw tooMany;
  await useProof();
  replays?.count();
  return giveOutcome(calls, keyed, begun, baseUrl);

  async function beginNew() {
    await precheck();
    await useProof();
    return begin();
  }
}

const freesKeyOf = (used: UsedKey): string | undefined => (used.state === 'replay' ? used.freesKeyOf : undefined);

/**
 * Answers a request whose key has been used before, and frees the key if the call may be repeated, or that is how its transport tells calls apart.
 * @throws ApiError
 */
export async function giveOutcome(
  calls: Pick<IdempotentCalls, 'free'>,
  keyed: KeyedRequest,
  used: UsedKey,
  baseUrl: string,
): Promise<ApiResponse> {
  const isFinal = ['replay', 'not_stored', 'denied', 'expired'].includes(used.state);
  const run = freesKeyOf(used);
  if (run !== undefined || (isFinal && keyed.isFreedByAnswer)) await calls.free(keyed, used.executionId, run);
  return answerUsedKey(used, baseUrl);
}

/** Whether the result of an attempt can be stored. Faults of the gate cannot. */
export const isOutcome = (result: unknown): result is Outcome => !(result instanceof Error) || result instanceof ApiError;

/** The result with the headers that were added, if any. */
export function withAdded({ result, added }: Attempted): unknown {
  if (!added || !isOutcome(result)) return result;
  const { headers } = added;
  return result instanceof ApiError ? result.withHeaders(headers) : { ...result, headers: { ...result.headers, ...headers } };
}

/** Returns the result of an attempt, or throws it if it is an error. */
export function answerOrThrow(result: Attempted['result']): ApiResponse {
  if (result instanceof Error) throw result;
  return result as ApiResponse;
}
