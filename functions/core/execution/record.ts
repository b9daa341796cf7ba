import type { CountedExecution, ExecutionStats } from '../activity/stats.ts';
import { ApiError } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import type { Execution } from './execution.ts';
import type { Receipt } from './receipt.ts';

/**
 * Writes down what became of an execution, whatever that is, and answers it: with its id, and with what is left of the limits.
 * @throws ApiError the refusal, with the same headers
 */
export async function record(
  { receipt, quota }: Execution,
  stats: Pick<ExecutionStats, 'count'>,
  outcome: Promise<ApiResponse>,
): Promise<ApiResponse> {
  const write = async (code: CountedExecution['outcome'], headers?: Record<string, string>): Promise<Record<string, string>> => {
    receipt.write(code, headers);
    await stats.count(toCounted(receipt, code));
    return receipt.headers;
  };
  try {
    const response = await outcome;
    return { ...response, headers: { ...response.headers, ...(await write('OK', response.headers)), ...(await quota.headers()) } };
  } catch (error) {
    if (!(error instanceof ApiError)) {
      await write('INTERNAL_SERVER_ERROR');
      throw error;
    }
    throw error.withHeaders({ ...(await write(error.code, error.headers)), ...(await quota.headers()) });
  }
}

/** What the numbers say of an execution. */
function toCounted({ notes }: Receipt, outcome: CountedExecution['outcome']): CountedExecution {
  const { service_id, upstream_host, upstream_status, upstream_ms, drift } = notes;
  const upstream = { status: upstream_status, durationMs: upstream_ms };
  return { serviceId: service_id, outcome, ...(upstream_host !== undefined && { upstream }), hasDrifted: drift };
}
