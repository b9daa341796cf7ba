import type { ExecutionState, PendingExecution } from '../../../schemas/deferred.ts';
import type { ErrorCode } from '../../../schemas/errors.ts';
import { ApiError } from '../api-error.ts';
import { notApproved } from '../execution/deferred-answers.ts';
import type { ApiResponse } from '../http/response.ts';
import { timeOfUlid } from '../ulid.ts';
import { describeOutput, describeRefusal, explainRefusal, remarksOn } from './result.ts';
import type { Era } from './revision.ts';

/** The outcome of a call, as the result of its tool. */
interface Ended {
  result: object;
  /** message of a refusal */
  message?: string;
}

/** Associates a message with its task (2025-11-25, "Associating Task-Related Messages"). */
export const relatedTo = (taskId: string) => ({ 'io.modelcontextprotocol/related-task': { taskId } });

const lifeMs = 24 * 3_600_000;
const pollIntervalMs = 2_000;

/** The members of a task, under the names that the revision gives them. */
function describeTask(era: Era, taskId: string, status: string, statusMessage: string): object {
  const names = era === 'modern' ? { ttlMs: lifeMs, pollIntervalMs } : { ttl: lifeMs, pollInterval: pollIntervalMs };
  const lastUpdatedAt = new Date().toISOString();
  return { taskId, status, statusMessage, createdAt: new Date(timeOfUlid(taskId)).toISOString(), lastUpdatedAt, ...names };
}

const describePending = (state: PendingExecution): string =>
  state.status === 'waiting' ? `Waiting for a person's approval until ${state.expires_at}` : 'The call is running';

/** The response that announces a task instead of a result (2025-11-25, "Tasks"; 2026-07-28, extension `io.modelcontextprotocol/tasks`). */
export function createTask(era: Era, executionId: string, state: PendingExecution): object {
  const task = describeTask(era, executionId, 'working', describePending(state));
  return era === 'modern' ? { resultType: 'task', ...task } : { task };
}

/** The response to `tasks/get`. In 2025-11-25, a task whose tool refuses has failed; in 2026-07-28, it is completed. */
export function readTask(era: Era, executionId: string, answer: ApiResponse, requestId: string): object {
  const state = answer.body as ExecutionState;
  if (state.status === 'waiting' || state.status === 'working') return describeTask(era, executionId, 'working', describePending(state));
  const { result, message } = endOf(answer, requestId);
  const isFailed = era === 'legacy' && message !== undefined;
  return {
    ...describeTask(era, executionId, isFailed ? 'failed' : 'completed', message ?? 'The call was made'),
    ...(era === 'modern' && { result: { resultType: 'complete', ...result } }),
  };
}

/** The outcome of a call, from the response of `GET /api/executions/{id}`; undefined if it has not ended. */
export const findEnd = (answer: ApiResponse, requestId: string): Ended | undefined =>
  ['waiting', 'working'].includes((answer.body as ExecutionState).status) ? undefined : endOf(answer, requestId);

function endOf({ body, headers }: ApiResponse, requestId: string): Ended {
  const state = body as ExecutionState;
  if (state.status === 'done' && state.outcome.status === 200)
    return { result: describeOutput({ data: state.outcome.body, remarks: remarksOn(headers), headers }) };
  const explained = explainRefusal('execute_intent', refusalOf(state), requestId);
  return { result: describeRefusal(explained), message: explained.error.message };
}

function refusalOf(state: ExecutionState): ApiError {
  switch (state.status) {
    case 'done': {
      const { status, body } = state.outcome;
      const { code, message, details } = body.error as { code: ErrorCode; message: string; details: Record<string, unknown> };
      return new ApiError(code, message, { status, details });
    }
    case 'denied':
      return notApproved('denied', `An admin denied this call: ${state.reason}`);
    case 'expired':
      return notApproved('expired', state.reason);
    default:
      return new ApiError('CONFLICT', (state as { reason: string }).reason, { details: { reason: 'outcome_unknown' } });
  }
}
