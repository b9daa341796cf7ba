import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import { answerHeld } from './idempotency-key.ts';
import type { IdempotentCalls, KeyedRequest } from './idempotent-call.ts';
import type { Replays } from './replay-meter.ts';

/** What came of an attempt to make a call. */
export interface Attempt {
  /** whether the upstream may have seen anything of it */
  isSent: boolean;
  /** an {@link ApiResponse}, or what is thrown: an ApiError is the refusal, and any other error a fault of the gate */
  outcome: unknown;
}

export interface OnceOptions {
  /** the request under its idempotency key, if it has one */
  keyed: KeyedRequest | undefined;
  /** counts what is answered from records, and refuses more of it; keys that have a record are remembered, so that it is not read in vain again */
  replays: Replays | undefined;
  /** Throws the refusal of a new call, if that can be told before anything is written for it. */
  foresee(): Promise<void>;
  /** Makes sure that the request itself is not one that was sent before: called before anything is written or answered, and perhaps twice, which counts once. */
  useProof(): Promise<void>;
}

/**
 * Attempts a call at most once for each idempotency key, whatever the parallelism. The outcome, a refusal by the upstream too, is kept for the
 * requests that follow; if nothing was sent, the key is free again. If this process dies in between, the key's outcome stays unknown.
 * A request that is refused by what is known already costs no write.
 */
export async function once(
  calls: IdempotentCalls,
  { keyed, replays, foresee, useProof }: OnceOptions,
  attempt: () => Promise<Attempt>,
): Promise<ApiResponse> {
  if (!keyed) {
    await foresee();
    await useProof();
    return answer((await attempt()).outcome);
  }
  const tooMany = replays?.findRefusal();
  if (tooMany && replays?.hasSeen(keyed.key)) throw tooMany;
  // read before written: a write that fails is paid for by the size of the record
  let held = await calls.find(keyed);
  if (held.state === 'free') {
    await foresee();
    await useProof();
    const begun = await calls.begin(keyed);
    if (begun.state !== 'started') held = begun;
  }
  if (held.state !== 'free') {
    // the key of a call that runs may be free again
    if (held.state !== 'running') replays?.see(keyed.key);
    if (tooMany) throw tooMany;
    await useProof();
    replays?.count();
    return answerHeld(held);
  }
  const { isSent, outcome } = await attempt();
  if (!isSent) await calls.abandon(keyed);
  else if (!(outcome instanceof Error) || outcome instanceof ApiError) await calls.finish(keyed, outcome as ApiResponse | ApiError);
  return answer(outcome);
}

function answer(outcome: Attempt['outcome']): ApiResponse {
  if (outcome instanceof Error) throw outcome;
  return outcome as ApiResponse;
}
