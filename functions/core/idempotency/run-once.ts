import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import { CallFailed } from '../relay/call-failure.ts';
import { answerHeld } from './idempotency.ts';
import type { IdempotentCalls, KeyedRequest } from './idempotent-call.ts';

const isNotSent = (error: ApiError): boolean => error instanceof CallFailed && error.outcome === 'not_sent';

export interface Run {
  /** the request under its idempotency key, if it has one */
  keyed: KeyedRequest | undefined;
  /** the refusal of a new call, if it is already known */
  refusal: ApiError | undefined;
  /** counts the call, or refuses it */
  admit(): Promise<void>;
  /** calls the upstream; a {@link CallFailed} whose outcome is `not_sent` says that the upstream has seen nothing */
  act(): Promise<ApiResponse>;
}

/**
 * Runs a call at most once for each idempotency key, whatever the parallelism. The outcome, a refusal by the upstream too, is kept for the
 * requests that follow; if nothing was sent, the key is free again. If this process dies in between, the key's outcome stays unknown.
 */
export async function runOnce(calls: IdempotentCalls, { keyed, refusal, admit, act }: Run): Promise<ApiResponse> {
  if (!keyed) {
    if (refusal) throw refusal;
    await admit();
    return act();
  }
  const held = refusal ? await calls.find(keyed) : await calls.begin(keyed);
  if (held.state !== 'free' && held.state !== 'started') return answerHeld(held);
  if (refusal) throw refusal;
  await admit().catch(async (error: unknown) => {
    await calls.abandon(keyed);
    throw error;
  });
  try {
    const response = await act();
    await calls.finish(keyed, response);
    return response;
  } catch (error) {
    if (error instanceof ApiError) await (isNotSent(error) ? calls.abandon(keyed) : calls.finish(keyed, error));
    throw error;
  }
}
