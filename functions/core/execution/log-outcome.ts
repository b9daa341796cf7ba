import type { ApiResponse } from '../http/response.ts';
import { ApiError } from '../runtime/api-error.ts';
import type { Execution } from './execution.ts';

/**
 * Logs the outcome of an execution, and adds the headers for its id and the remaining limits to the answer.
 * @throws ApiError the refusal, with the same headers
 */
export async function logOutcome({ logLine, quota }: Execution, outcome: Promise<ApiResponse>): Promise<ApiResponse> {
  try {
    const response = await outcome;
    logLine.write(response.status === 202 ? 'DEFERRED' : 'OK', response.headers);
    return { ...response, headers: { ...response.headers, ...logLine.headers, ...(await quota.headers()) } };
  } catch (error) {
    if (!(error instanceof ApiError)) {
      logLine.write('INTERNAL_SERVER_ERROR');
      throw error;
    }
    if (['FORBIDDEN', 'TOO_MANY_REQUESTS'].includes(error.code)) logLine.note(whyRefused(error));
    logLine.write(error.code, error.headers);
    throw error.withHeaders({ ...logLine.headers, ...(await quota.headers()) });
  }
}

function whyRefused({ details: { reason, rule } }: ApiError): { reason?: string; rule?: string } {
  return { ...(typeof reason === 'string' && { reason }), ...(typeof rule === 'string' && { rule }) };
}
