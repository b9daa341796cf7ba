import type { ErrorCode } from '../../../schemas/errors.ts';
import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import type { Execution } from './execution.ts';

/**
 * Logs the outcome of an execution, and adds the headers for its id and the remaining limits to the answer.
 * @throws ApiError the refusal, with the same headers
 */
export async function record({ logLine, quota }: Execution, outcome: Promise<ApiResponse>): Promise<ApiResponse> {
  const write = (code: 'OK' | 'DEFERRED' | ErrorCode, headers?: Record<string, string>): Record<string, string> => {
    logLine.write(code, headers);
    return logLine.headers;
  };
  try {
    const response = await outcome;
    return {
      ...response,
      headers: { ...response.headers, ...write(response.status === 202 ? 'DEFERRED' : 'OK', response.headers), ...(await quota.headers()) },
    };
  } catch (error) {
    if (!(error instanceof ApiError)) {
      write('INTERNAL_SERVER_ERROR');
      throw error;
    }
    if (['FORBIDDEN', 'TOO_MANY_REQUESTS'].includes(error.code)) logLine.note(whyRefused(error));
    throw error.withHeaders({ ...write(error.code, error.headers), ...(await quota.headers()) });
  }
}

function whyRefused({ details: { reason, rule } }: ApiError): { reason?: string; rule?: string } {
  return { ...(typeof reason === 'string' && { reason }), ...(typeof rule === 'string' && { rule }) };
}
