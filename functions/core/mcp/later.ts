import type { ApiRequest } from '../http/request.ts';
import type { ClientCapabilities } from './client-capabilities.ts';
import { RpcError } from './json-rpc.ts';
import { createTask } from './tasks.ts';
import type { PendingCall } from './tool.ts';

/**
 * Answers a deferred call: with a task if the client accepts one, else with the approval page if the client can open URLs, else with text.
 * @throws RpcError for a legacy client that can open URLs
 */
export function answerPending(call: PendingCall, client: ClientCapabilities, request: ApiRequest): object {
  const { state, usesConnectionPat } = call;
  if (client.tasks && usesConnectionPat) return createTask(client.era, call.executionId, state);
  if (client.urls && state.status === 'waiting' && !client.hasSeenPage) return elicit(call, client, request);
  return explain(call);
}

/** Asks the client to open the approval page (2025-11-25 and 2026-07-28, "URL Mode Elicitation"). */
function elicit({ executionId, key }: PendingCall, { era }: ClientCapabilities, { baseUrl }: ApiRequest): object {
  const message = 'A person has to approve this call. The page shows it to the admins of this gate, who decide there.';
  const params = { mode: 'url', message, url: `${baseUrl}/console#/approvals/${executionId}` };
  if (era === 'modern')
    return { resultType: 'input_required', inputRequests: { approval: { method: 'elicitation/create', params } }, requestState: key };
  throw new RpcError('urlElicitationRequired', `${message} Then make the same call again.`, {
    status: 200,
    data: { elicitations: [{ ...params, elicitationId: executionId }] },
  });
}

/** Explains in text how to repeat the call. */
function explain({ state, key }: PendingCall): object {
  const isWaiting = state.status === 'waiting';
  const happened = isWaiting
    ? `This call waits for a person's approval until ${state.expires_at}. Nothing has been sent.`
    : 'This call is still running.';
  const next = `${isWaiting ? 'Tell the person you work for that an admin of this gate has to approve it. When they have, make' : 'In a few seconds, make'} the same call again with the same arguments and the idempotency_key ${key}: it is made only once.`;
  const { execution: _, ...shown } = state;
  return {
    content: [{ type: 'text', text: `${happened}\nNext: ${next}` }],
    structuredContent: { ...shown, idempotency_key: key, next },
    isError: false,
  };
}
