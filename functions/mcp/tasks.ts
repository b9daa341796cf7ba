import type { ExecutionState, PendingExecution } from '../../schemas/deferred.ts';
import type { ErrorCode } from '../../schemas/errors.ts';
import { notApproved } from '../core/execution/deferred-answers.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { ApiResponse } from '../core/http/response.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { timeOfUlid } from '../core/runtime/ulid.ts';
import type { ClientCapabilities } from './client-capabilities.ts';
import { elicit, mayOpen, type Page } from './elicit.ts';
import { describeOutput, describeRefusal, explainRefusal, remarksOn } from './result.ts';
import type { Era } from './revision.ts';
import type { PendingCall } from './tool.ts';

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
function createTask(era: Era, executionId: string, state: PendingExecution): object {
  const task = describeTask(era, executionId, 'working', describePending(state));
  return era === 'modern' ? { resultType: 'task', ...task } : { task };
}

/**
 * Answers a deferred call: with a task if the client accepts one, else with the approval page if the client can open URLs, else with text.
 * @throws RpcError for a legacy client that can open URLs
 */
export function answerPending(call: PendingCall, client: ClientCapabilities, request: ApiRequest): object {
  const { state, usesConnectionPat } = call;
  if (client.tasks && usesConnectionPat) return createTask(client.era, call.executionId, state);
  const url = `${request.baseUrl}/console#/approvals/${call.executionId}`;
  const page: Page = { name: 'approval', message: approvalNeeded, url, id: call.executionId };
  if (state.status === 'waiting' && mayOpen(page, client)) return elicit(page, client, client.key);
  return explain(call);
}

const approvalNeeded = 'A person has to approve this call. The page shows it to the admins of this gate, who decide there.';

/** Explains in text how to repeat the call. */
function explain({ state, key }: PendingCall): object {
  const isWaiting = state.status === 'waiting';
  const happened = isWaiting
    ? `This call waits for a person's approval until ${state.expires_at}. Nothing has been sent.`
    : 'This call is still running.';
  const next = `${isWaiting ? 'Tell the person you work for that an admin of this gate has to approve it. When they have, make' : 'In a few seconds, make'} the same call again with the same arguments${key === undefined ? '' : ` and the idempotency_key ${key}`}: it is made only once.`;
  const { execution: _, ...shown } = state;
  return {
    content: [{ type: 'text', text: `${happened}\nNext: ${next}` }],
    structuredContent: { ...shown, ...(key !== undefined && { idempotency_key: key }), next },
    isError: false,
  };
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
