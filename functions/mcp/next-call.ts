import type { ErrorCode } from '../../schemas/errors.ts';
import type { ApiError } from '../core/runtime/api-error.ts';

const acceptPolicy =
  'Call accept_policy without arguments to see what to sign; call it again with the signature, and pass the PAT that it returns as pat.';
const search = 'Call search_intents for an intent that you may execute.';
const sameLater = 'Make the same call again later.';

/** Advice by code; null if the arguments have to be corrected. */
const nextCalls: Record<Exclude<ErrorCode, 'TOO_MANY_REQUESTS' | 'INTENT_EXECUTION_FAILED'>, string | null> = {
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
  INTERNAL_SERVER_ERROR: 'Find out whether it was done before you make the same call again.',
  GATEWAY_TIMEOUT: 'It is unknown whether it was done. Find that out before you make the call again.',
  INVALID_PARAMETER: null,
  CONFLICT: null,
  METHOD_NOT_ALLOWED: null,
  UNSUPPORTED_MEDIA_TYPE: null,
  NOT_IMPLEMENTED: null,
};

const nextCallsOfExecute: Partial<Record<ErrorCode, string>> = {
  INVALID_PARAMETER: 'Call get_intent to see what each parameter has to be, correct the parameters, and call execute_intent again.',
  CONFLICT: 'Use a new idempotency_key for another request; if the first is still running, make the same call again later.',
};

const tellPerson = 'Tell the person you work for';

const notDone = `It was not done. ${tellPerson}; if they still want it, make the call with a new idempotency_key.`;

/** Advice by `details.reason`. */
const adviceByReason = new Map<unknown, string>([
  ['policy_changed', `The policy has changed. ${acceptPolicy}`],
  ['agent_blocked', `Stop: this agent is blocked. ${tellPerson} to ask the operators of this gate.`],
  ['paused', `${tellPerson} that this service is paused, or search_intents for another intent.`],
  ['connect', `${tellPerson} to open the url in details and connect to the service there; then make the same call again.`],
  ['person_required', `${tellPerson} that this intent needs a host in which they sign in, or search_intents for another intent.`],
  ['denied', notDone],
  ['expired', notDone],
  ['no_longer_holds', notDone],
  ['outcome_unknown', 'It may have been done. Find that out before you make the call with a new idempotency_key.'],
  [
    'approval_pending',
    'Wait until the operators of this gate have approved this agent, then make the same call again with a new signature.',
  ],
  ['intent_changed', 'Call get_intent again. If it is still what you want, call execute_intent with its new digest.'],
]);

/** Other parameters can help only if the service rejected these (422), or may have (403 with a reason). */
function afterFailure({ status, details }: ApiError): string {
  if (status === 422 || (details.upstream_status === 403 && details.upstream_body !== undefined))
    return 'Look at upstream_status and upstream_body if they are given. Correct the parameters, or search_intents for another intent.';
  const isSent = details.outcome !== 'not_sent';
  return `The parameters are not the cause. ${isSent ? 'The service may have done what you asked: find that out before you make the call again' : `${tellPerson} that this intent cannot be called`}, or search_intents for another intent.`;
}

/** Advice for a connection without a PAT, or with an expired one. */
function withoutPat({ details }: ApiError): string {
  const signIn =
    typeof details.sign_in === 'string' ? `, or connect this host to ${details.sign_in}, where they sign in with a browser` : '';
  if (details.reason === 'pat_missing')
    return `${acceptPolicy} If you cannot sign: ${tellPerson.toLowerCase()} to configure this connection with a PAT (the header Authorization: Bearer <PAT>)${signIn}.`;
  return `${tellPerson}: the PAT that this connection is configured with is no longer valid. They can configure a new one, remove it so that you can call accept_policy and pass a PAT as pat${signIn}.`;
}

const joinWithOr = (names: string[]): string => new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(names);

/** Advice for a model about a refusal, in one sentence. */
export function nextCall(tool: string, error: ApiError): string {
  const { code, details } = error;
  if (details.reason === 'pat_missing' || details.reason === 'pat_of_connection') return withoutPat(error);
  if (details.outcome === 'executed') return 'It was done. Do not make the same call again.';
  const advice = adviceByReason.get(details.reason);
  if (advice !== undefined) return advice;
  if (Array.isArray(details.nearest))
    return `Did you mean ${joinWithOr(details.nearest)}? Call get_intent with the one that you mean, or search_intents to find another.`;
  if (code === 'TOO_MANY_REQUESTS') return `Make the same call again after ${details.retry_after_seconds} seconds, not earlier.`;
  if (code === 'INTENT_EXECUTION_FAILED') return afterFailure(error);
  if (code === 'NOT_FOUND' && tool === 'tasks/get')
    return 'Send the taskId exactly as it was given. If it is too old, find out whether the call was made before you make it again.';
  const isAboutParameters = !Array.isArray(details.issues) || details.issues.some(({ path }) => /^\/parameters(\/|$)/.test(path));
  const own = tool === 'execute_intent' && (code !== 'INVALID_PARAMETER' || isAboutParameters) ? nextCallsOfExecute[code] : undefined;
  return own ?? nextCalls[code] ?? `Correct the arguments, and call ${tool} again.`;
}
