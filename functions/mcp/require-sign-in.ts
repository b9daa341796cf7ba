import type { Admit } from '../core/execution/admit.ts';
import { logAnswer } from '../core/http/log-answer.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { Action } from '../core/http/serve.ts';
import { askToSignIn, challengeOf, describeSignInRefusal, signInFirst, signInPath } from '../core/http/sign-in-address.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { type RpcId, readId } from './json-rpc.ts';

/**
 * Requires a valid PAT for every request to the address for hosts that sign people in, because many hosts decide at their first request whether
 * to. `/mcp` itself never requires one. Other methods than POST reach this function only at that address, so that they require one, too.
 */
export const requireSignIn =
  (admit: Admit, answer: Action): Action =>
  async (request) => {
    if (request.path.replace(/\/$/, '') !== signInPath) return answer(request);
    try {
      await admit(request);
    } catch (error) {
      if (!(error instanceof ApiError) || (error.code !== 'UNAUTHORIZED' && error.code !== 'FORBIDDEN')) throw error;
      return refuse(error, request);
    }
    if (request.method === 'POST') return answer(request);
    throw new ApiError('METHOD_NOT_ALLOWED', 'This path does not have that method. It has: POST.', { headers: { Allow: 'POST' } });
  };

function refuse(error: ApiError, request: ApiRequest) {
  logAnswer('tool', { request_id: request.requestId, tool: 'sign-in' }, error);
  const hasToken = request.headerValues('authorization').length > 0;
  // the rest of the message does not apply to a PAT that came from a sign-in
  const dead = error.details.reason === 'agent_blocked' ? error.message : `${error.message.replace(/\. .*/s, '.')} ${askToSignIn}`;
  const reason = error.headers['WWW-Authenticate'] ?? 'Bearer realm="intent-gate", error="invalid_token"';
  const { code, details } = error;
  const refusal = { code, message: hasToken ? dead : signInFirst, details: { ...details, request_id: request.requestId } };
  return {
    status: 401,
    body: describeSignInRefusal(refusal, readIdOf(request)),
    headers: { 'WWW-Authenticate': challengeOf(request.baseUrl, reason) },
  };
}

function readIdOf(request: ApiRequest): RpcId | undefined {
  try {
    return readId(request.json());
  } catch {
    return undefined;
  }
}
