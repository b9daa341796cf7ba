import { errorBody } from '../../../schemas/errors.ts';
import { ApiError, unavailable } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import type { Action } from '../http/serve.ts';

/** Longest that the endpoint may take, in milliseconds. */
const timeoutMs = 12_000;

/** Headers of a refusal that say what the caller has to do. */
const passedOn = ['retry-after', 'ratelimit', 'ratelimit-policy', 'www-authenticate'];

/**
 * Makes an action that asks an endpoint of this gate over HTTP, at the address that the gate was called by: for what this function may not do
 * itself. The function that calls other people's services is not the one that may sign.
 * @returns an action that throws the endpoint's own refusal, or ApiError SERVICE_UNAVAILABLE if it does not answer
 */
export const askOverHttp =
  (path: string): Action =>
  async (request): Promise<ApiResponse> => {
    const proof = request.header('dpop');
    const answer = await fetch(`${request.baseUrl}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(proof !== undefined && { DPoP: proof }) },
      body: JSON.stringify(request.json()),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: unknown) => {
      throw unavailable('The endpoint that issues PATs cannot be reached. Try again after Retry-After.', error);
    });
    const body: unknown = await answer.json();
    if (answer.ok) return { status: answer.status, body };
    const { code, message, details } = errorBody.parse(body).error;
    const headers = Object.fromEntries(
      passedOn.flatMap((name) => (answer.headers.has(name) ? [[name, answer.headers.get(name) ?? '']] : [])),
    );
    throw new ApiError(code, message, { status: answer.status, headers, ...(details && { details }) });
  };
