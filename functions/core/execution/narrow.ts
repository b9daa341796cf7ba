import { executionRequest } from '../../../schemas/execution.ts';
import type { Intent } from '../../../schemas/intent.ts';
import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import { type JsonObject, parse } from '../json.ts';
import type { LiveIntent } from '../registry/live-intents.ts';
import { describeCut } from '../relay/answer-headers.ts';
import { cutAnswer } from '../relay/cut.ts';
import { narrowRefusal, selectAllowed, selectFields } from '../relay/select-fields.ts';
import type { DeferredContent } from './deferred-call-store.ts';
import type { Outcome } from './outcome.ts';
import type { ResolvedCall } from './resolve.ts';

/**
 * Narrows an outcome to the fields that the intent allows and its caller requested. A stored outcome may contain more than is allowed today.
 * @throws ApiError the refusal, narrowed in the same way
 */
export async function narrow(
  { intent, fields, maxBytes }: Pick<ResolvedCall, 'fields' | 'maxBytes'> & { intent: Pick<Intent, 'fields'> },
  outcome: Promise<ApiResponse>,
): Promise<ApiResponse> {
  const response = await outcome.catch((error: unknown) => {
    throw error instanceof ApiError ? narrowRefusal(error, intent) : error;
  });
  if (response.status === 202) return response;
  const allowed = selectAllowed(response.body as JsonObject, intent);
  const { body, cut } = cutAnswer(selectFields(allowed, fields) as JsonObject, maxBytes);
  return { ...response, body, headers: { ...response.headers, ...(cut && describeCut(cut)) } };
}

/** Narrows the stored outcome of a deferred call. If its intent has been deleted, the fields that it allowed at the time of the call remain. */
export async function narrowOutcome(
  outcome: Outcome,
  { body }: Pick<DeferredContent, 'body'>,
  found: LiveIntent | undefined,
): Promise<Outcome> {
  const { fields, max_bytes: maxBytes } = parse(executionRequest, body);
  const kept = outcome instanceof ApiError ? Promise.reject(outcome) : Promise.resolve(outcome);
  return narrow({ intent: found?.intent ?? {}, fields, maxBytes }, kept).catch((refusal: Outcome) => refusal);
}

const answerHeaders = ['Answer-Issues', 'Answer-Cut', 'Execution-Receipt', 'Execution-Receipt-Salts'];

/** The headers of an outcome that describe its body. */
export const answerHeadersOf = ({ headers = {} }: Outcome): Record<string, string> =>
  Object.fromEntries(answerHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
