import { executionRequest } from '../../../schemas/execution.ts';
import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import { type JsonValue, parse } from '../json.ts';
import type { Execution } from './execution.ts';
import { answerHeld, fingerprintOf, readIdempotencyKey } from './idempotency-key.ts';
import type { IdempotentCalls } from './idempotent-call.ts';
import { narrow } from './narrow.ts';

/** How the gate refuses an intent that it has no longer, or that is no longer executed. */
const withdrawn = ['NOT_FOUND', 'VERSION_CONFLICT', 'INTENT_DEPRECATED'];

/**
 * What the first request under this key was answered, although its intent has been withdrawn since: otherwise a retry would say of a call that was
 * made that it does not exist.
 * @throws ApiError the refusal, if there was no such request
 */
export async function answerWithdrawn(
  calls: Pick<IdempotentCalls, 'find'>,
  { request, caller, holder, logLine, nowMs }: Execution,
  body: JsonValue,
  refusal: unknown,
): Promise<ApiResponse> {
  const key = readIdempotencyKey(request);
  if (key === undefined || !(refusal instanceof ApiError && withdrawn.includes(refusal.code))) throw refusal;
  const { intent_uid, parameters, fields, max_bytes: maxBytes } = parse(executionRequest, body);
  const { executionId } = logLine;
  const fingerprint = fingerprintOf(intent_uid, parameters);
  const held = await calls.find({ account: holder.account, executionId, key, fingerprint, nowMs });
  if (held.state === 'free' || held.state === 'conflict') throw refusal;
  await caller.proof?.use();
  const answer = async () => answerHeld(held, request.baseUrl);
  return narrow({ intent: {}, fields, maxBytes }, answer());
}
