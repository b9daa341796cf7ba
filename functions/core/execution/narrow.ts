import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import type { JsonObject } from '../json.ts';
import { narrowRefusal } from '../relay/answer.ts';
import { describeCut } from '../relay/answer-headers.ts';
import { cutAnswer } from '../relay/cut.ts';
import { selectAllowed, selectFields } from '../relay/select-fields.ts';
import type { ResolvedCall } from './resolve.ts';

/**
 * What may leave of the outcome of a call, and what its caller wants of that. An outcome that was kept may hold more than may leave by now.
 * @throws ApiError the refusal, narrowed alike
 */
export async function narrow(
  { intent, fields, maxBytes }: Pick<ResolvedCall, 'intent' | 'fields' | 'maxBytes'>,
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
