import { type ExecutionInput, executionRequest } from '../../../schemas/execution.ts';
import type { ApiResponse } from '../http/response.ts';
import { type JsonObject, parseWithNulls } from '../json/json.ts';
import type { LiveIntent } from '../registry/live-intents.ts';
import { describeCut, describeMissing, type Head, narrowHead } from '../relay/answer-headers.ts';
import { cutAnswer } from '../relay/cut.ts';
import { findMissing, narrowRefusal, selectAllowed, selectFields } from '../relay/select-fields.ts';
import { ApiError } from '../runtime/api-error.ts';
import type { DeferredContent } from './deferred-call-store.ts';
import type { Outcome } from './idempotent-call-store.ts';
import { answerOrThrow } from './once.ts';

/** What of an answer its caller gets. */
interface Selection {
  /** the fields that it allows */
  intent: Head;
  /** what the caller requested */
  input: Pick<ExecutionInput, 'fields' | 'max_bytes'>;
}

/** Narrows an outcome to the fields that the intent allows and its caller requested. A stored outcome may contain more than is allowed today. */
export function narrowOutcome({ intent, input }: Selection, outcome: Outcome): Outcome {
  if (outcome instanceof ApiError) return narrowRefusal(outcome, intent);
  if (outcome.status === 202) return outcome;
  const allowed = selectAllowed(outcome.body as JsonObject, intent);
  const { body, cut } = cutAnswer(selectFields(allowed, input.fields) as JsonObject, input.max_bytes);
  const missing = describeMissing(findMissing(allowed, input.fields));
  return { ...outcome, body, headers: { ...narrowHead(outcome.headers ?? {}, intent), ...missing, ...(cut && describeCut(cut)) } };
}

/** @throws ApiError the refusal, narrowed in the same way */
export async function narrow(selection: Selection, answer: Promise<ApiResponse>): Promise<ApiResponse> {
  const outcome = await answer.catch((error: unknown) => {
    if (error instanceof ApiError) return error;
    throw error;
  });
  return answerOrThrow(narrowOutcome(selection, outcome));
}

/** Narrows the stored outcome of a deferred call. If its intent has been deleted, the fields that it allowed at the time of the call remain. */
export function narrowStored(outcome: Outcome, { body }: Pick<DeferredContent, 'body'>, found: LiveIntent | undefined): Outcome {
  return narrowOutcome({ intent: found?.intent ?? {}, input: parseWithNulls(executionRequest, body) }, outcome);
}

const select = (headers: Record<string, string>, isSelected: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => isSelected(name)));

/** The headers of an answer that come from the service: its status and header fields. */
export const headOf = (headers: Record<string, string>): Record<string, string> => select(headers, (name) => name.startsWith('Upstream-'));

/** The headers of an answer that features have added around the attempt. */
export const addedOf = (headers: Record<string, string>): Record<string, string> =>
  select(headers, (name) => name.startsWith('Execution-') && name !== 'Execution-Id');

/** The headers of an outcome that describe its body. */
export const answerHeadersOf = ({ headers = {} }: Outcome): Record<string, string> => ({
  ...select(headers, (name) => /^(?:Upstream|Answer)-/.test(name)),
  ...addedOf(headers),
});
