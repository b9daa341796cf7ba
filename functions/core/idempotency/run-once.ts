import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import { CallFailed } from '../relay/call-failure.ts';
import { answerHeld } from './idempotency.ts';
import type { IdempotentCalls, KeyedRequest } from './idempotent-call.ts';

/** Whether a call ended before the upstream can have seen it. */
export const isNotSent = (error: unknown): boolean => error instanceof CallFailed && error.outcome === 'not_sent';

export interface Run<Admitted> {
  /** the request under its idempotency key, if it has one */
  keyed: KeyedRequest | undefined;
  /** the refusal of a new call, if that can be told before anything is done for it */
  findRefusal(): Promise<ApiError | undefined>;
  /** makes sure that the request itself is not one that was sent before; called before anything is written or answered, and perhaps twice, which counts once */
  useProof(): Promise<void>;
  /** counts what is answered from records, and refuses more of it; keys that have a record are remembered, so that it is not read in vain again */
  replays: { findRefusal(): ApiError | undefined; hasSeen(): boolean; see(): void; count(): void };
  /** connects and counts the call, or refuses it */
  admit(): Promise<Admitted>;
  /** calls the upstream; a {@link CallFailed} whose outcome is `not_sent` says that the upstream has seen nothing */
  act(admitted: Admitted): Promise<ApiResponse>;
}

/**
 * Runs a call at most once for each idempotency key, whatever the parallelism. The outcome, a refusal by the upstream too, is kept for the
 * requests that follow; if nothing was sent, the key is free again. If this process dies in between, the key's outcome stays unknown.
 * A request that is refused by what is known already costs no write.
 */
export async function runOnce<Admitted>(
  calls: IdempotentCalls,
  { keyed, findRefusal, useProof, replays, admit, act }: Run<Admitted>,
): Promise<ApiResponse> {
  const requireNoRefusal = async () => {
    const refusal = await findRefusal();
    if (refusal) throw refusal;
  };
  if (!keyed) {
    await requireNoRefusal();
    await useProof();
    return act(await admit());
  }
  const tooMany = replays.findRefusal();
  if (tooMany && replays.hasSeen()) throw tooMany;
  // read before written: a write that fails is paid for by the size of the record
  let held = await calls.find(keyed);
  if (held.state === 'free') {
    await requireNoRefusal();
    await useProof();
    const begun = await calls.begin(keyed);
    if (begun.state !== 'started') held = begun;
  }
  if (held.state !== 'free') {
    // the key of a call that runs may be free again
    if (held.state !== 'running') replays.see();
    if (tooMany) throw tooMany;
    await useProof();
    replays.count();
    return answerHeld(held);
  }
  const admitted = await admit().catch(async (error: unknown) => {
    await calls.abandon(keyed);
    throw error;
  });
  try {
    const response = await act(admitted);
    await calls.finish(keyed, response);
    return response;
  } catch (error) {
    if (error instanceof ApiError) await (isNotSent(error) ? calls.abandon(keyed) : calls.finish(keyed, error));
    throw error;
  }
}
