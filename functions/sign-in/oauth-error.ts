import type { Issue } from '../../schemas/errors.ts';
import type { ApiResponse } from '../core/http/response.ts';
import type { Action } from '../core/http/serve.ts';
import { ApiError } from '../core/runtime/api-error.ts';

/**
 * The errors of RFC 6749 sections 4.1.2.1 and 5.2, of RFC 7009 section 2.2.1, of RFC 7591 section 3.2.2, of RFC 8707 and of OpenID Connect Core
 * section 3.1.2.6 that are used here.
 */
export type OAuthErrorCode =
  | 'access_denied'
  | 'consent_required'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_target'
  | 'login_required'
  | 'temporarily_unavailable'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'unsupported_token_type';

export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;
  readonly status: number;
  readonly headers: Record<string, string>;

  /** @param message - what is wrong and what to do next; it must not echo input */
  constructor(
    code: OAuthErrorCode,
    message: string,
    { status = 400, headers = {} }: Pick<ApiResponse, 'headers'> & { status?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

/** RFC 6749 allows no quotation mark and no backslash in a description. */
export const describeOAuthError = ({ code, message }: OAuthError) => ({
  error: code,
  error_description: message.replace(/["\\]|[^\x20-\x7e]/g, "'"),
});

/** undefined for internal errors, which OAuth has no code for */
export function toOAuthError(error: unknown): OAuthError | undefined {
  if (error instanceof OAuthError) return error;
  if (!(error instanceof ApiError) || error.code === 'INTERNAL_SERVER_ERROR') return undefined;
  const { code, status, message, headers, details } = error;
  if (status === 429 || status === 503) return new OAuthError('temporarily_unavailable', message, { status, headers });
  if (code === 'POLICY_REJECTED') return new OAuthError('invalid_grant', message);
  const issues = (details.issues ?? []) as Issue[];
  const sentences = issues.map(({ path, problem }) => `${path.slice(1) || 'The body'} ${problem}.`.replace(/^The body the /, 'The '));
  return new OAuthError('invalid_request', sentences.join(' ') || message);
}

/** Converts refusals to responses; internal errors are thrown again. */
export const answerRefusals =
  (action: Action, answer: (refusal: OAuthError) => ApiResponse): Action =>
  async (request) => {
    try {
      return await action(request);
    } catch (error) {
      const refusal = toOAuthError(error);
      if (!refusal) throw error;
      return answer(refusal);
    }
  };

/** RFC 6749 section 5.2. */
export const answerInOAuth = (action: Action): Action =>
  answerRefusals(action, (refusal) => {
    const { status, headers } = refusal;
    return { status, body: describeOAuthError(refusal), headers: { Pragma: 'no-cache', ...headers } };
  });
