import type { ExecutionInput } from '../../../schemas/execution.ts';
import type { ApiResponse } from '../http/response.ts';
import type { LiveIntents } from '../registry/live-intents.ts';
import { ApiError } from '../runtime/api-error.ts';
import type { Execution } from './execution.ts';
import { fingerprintOf, givenKeyOf } from './idempotency-key.ts';
import type { IdempotentCalls } from './idempotent-call-store.ts';
import { narrow } from './narrow.ts';
import { giveOutcome } from './once.ts';

/** Whether a refusal is about the call rather than about its caller. */
const isOfCall = (refusal: unknown): boolean =>
  refusal instanceof ApiError && refusal.code !== 'UNAUTHORIZED' && refusal.details.reason !== 'agent_blocked';

/** The key of a request, unless it is malformed: no earlier request can have had that. */
function readKey(request: Execution['request']): ReturnType<typeof givenKeyOf> {
  try {
    return givenKeyOf(request);
  } catch {
    return undefined;
  }
}

/**
 * Answers a refused request with the outcome of the first request under its key. The intent may have changed since, or the policy may no longer
 * permit it. Without this, a retry would report a completed call as never made.
 * @throws ApiError the refusal, if there was no earlier request or it was another one
 */
export async function answerAsBefore(
  { calls, intents }: { calls: Pick<IdempotentCalls, 'find' | 'free'>; intents: Pick<LiveIntents, 'findWith'> },
  { request, caller, holder, logLine, nowMs }: Execution,
  input: ExecutionInput,
  refusal: unknown,
): Promise<ApiResponse> {
  const key = isOfCall(refusal) ? readKey(request) : undefined;
  if (!key) throw refusal;
  const { executionId } = logLine;
  const keyed = { account: holder.account, executionId, ...key, fingerprint: fingerprintOf(input.intent_uid, input.parameters), nowMs };
  const used = await calls.find(keyed);
  if (used.state === 'free' || used.state === 'conflict') throw refusal;
  await caller.proof?.use();
  const { found } = await intents.findWith(input.intent_uid, []);
  return narrow({ intent: found?.intent ?? {}, input }, giveOutcome(calls, keyed, used, request.baseUrl));
}
