import { ApiError } from '../api-error.ts';
import { unauthorized } from '../http/bearer.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Action } from '../http/serve.ts';
import { ConnectionRefused } from './tools.ts';

/** A refusal of the connection's token says where to get another one (RFC 9728 section 5.1); any other error is returned as it is. */
export function withSignIn(error: unknown, { baseUrl }: ApiRequest): unknown {
  if (!(error instanceof ApiError) || error.code !== 'UNAUTHORIZED') return error;
  const { code, message, status, details, cause, headers } = error;
  const challenge = `${headers['WWW-Authenticate']}, resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`;
  return new ApiError(code, message, { status, details, cause, headers: { ...headers, 'WWW-Authenticate': challenge } });
}

/** Hosts begin to sign in when a tool call is answered 401, and not when its result says that a PAT is missing. */
export const askToSignIn =
  (execute: Action): Action =>
  async (request) => {
    if (request.headerValues('authorization').length > 0) return execute(request);
    throw new ConnectionRefused(
      unauthorized('Executing needs a PAT: sign in at this gate, or send the header Authorization: Bearer <PAT>.'),
    );
  };
