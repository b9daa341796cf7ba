import type { ErrorCode } from '../../../schemas/errors.ts';
import type { ApiError } from '../api-error.ts';

const acceptPolicy =
  'Call accept_policy without arguments to see what to sign; call it again with the signature, and pass the PAT that it returns as pat.';
const search = 'Call search_intents for an intent that you may execute.';
const sameLater = 'Make the same call again later.';

const nextCalls: Partial<Record<ErrorCode, string>> = {
  UNAUTHORIZED: acceptPolicy,
  INVALID_SIGNATURE: acceptPolicy,
  POLICY_REJECTED:
    'Call accept_policy without arguments to see the policy in force, and sign that; an agent_id that belongs to another key needs that key, or choose another agent_id.',
  FORBIDDEN: search,
  NOT_FOUND: 'Call search_intents to find the intent_uid.',
  VERSION_CONFLICT: 'Call get_intent with one of the versions in supported_versions, then execute_intent with that one.',
  INTENT_DEPRECATED: 'Call get_intent with the successor if one is named, else search_intents.',
  INTENT_NOT_SUPPORTED: search,
  SERVICE_UNAVAILABLE: sameLater,
  GATEWAY_TIMEOUT: 'It is unknown whether it was done. Find that out before you call again.',
};

const nextCallsOfExecute: Partial<Record<ErrorCode, string>> = {
  INVALID_PARAMETER: 'Call get_intent to see what each parameter has to be, correct the parameters, and call execute_intent again.',
  INTENT_EXECUTION_FAILED:
    'Look at upstream_status and upstream_body if they are given. Correct the parameters, or search_intents for another intent.',
  CONFLICT: 'Use a new idempotency_key for another request; if the first is still running, make the same call again later.',
};

/** What a model can do about a refusal, in one sentence. */
export function nextCall(tool: string, { code, details }: ApiError): string {
  if (details.reason === 'policy_changed') return `The policy has changed. ${acceptPolicy}`;
  if (details.reason === 'pat_of_connection') return `The PAT that this connection is configured with does not hold. ${acceptPolicy}`;
  if (details.reason === 'agent_blocked')
    return 'Stop: this agent is blocked. Tell the person whom you work for to ask the operators of this gate.';
  if (details.reason === 'approval_pending')
    return 'Wait until the operators of this gate have approved this agent, then make the same call again with a new signature.';
  if (details.reason === 'intent_changed')
    return 'Call get_intent again. If it is still what you want, call execute_intent with its new digest.';
  if (code === 'TOO_MANY_REQUESTS') return `Make the same call again after ${details.retry_after_seconds} seconds, not earlier.`;
  const own = tool === 'execute_intent' ? nextCallsOfExecute[code] : undefined;
  return own ?? nextCalls[code] ?? `Correct the arguments, and call ${tool} again.`;
}
