import { ApiError } from '../api-error.ts';
import { unauthorized } from '../http/bearer.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Action } from '../http/serve.ts';
import { isObject } from '../json.ts';
import { readJson } from '../pat/jws.ts';
import { ConnectionRefused } from './tools.ts';

/** A refusal that says where a person can sign in for another token (RFC 9728 section 5.1). Hosts begin to when HTTP says so, not a tool's result. */
function challenge({ code, message, status, details, cause, headers }: ApiError, { baseUrl }: ApiRequest): ConnectionRefused {
  const field = `${headers['WWW-Authenticate']}, resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`;
  return new ConnectionRefused(new ApiError(code, message, { status, details, cause, headers: { ...headers, 'WWW-Authenticate': field } }));
}

/** Whether a token says that a person got it by signing in: the host that has it can get another one, and a model cannot. */
function isOfPerson(authorization: string): boolean {
  const [, payload = ''] = authorization.split('.');
  const claims = readJson(Buffer.from(payload, 'base64url'));
  return isObject(claims) && typeof claims.client_id === 'string';
}

/** Executes, or lets the host ask its person to sign in: if there is no PAT, or one from an earlier sign-in that does not hold any more. */
export const askToSignIn =
  (execute: Action): Action =>
  async (request) => {
    const [authorization] = request.headerValues('authorization');
    if (authorization === undefined) {
      throw challenge(
        unauthorized('Executing needs a PAT: sign in at this gate, or send the header Authorization: Bearer <PAT>.'),
        request,
      );
    }
    try {
      return await execute(request);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'UNAUTHORIZED' || !isOfPerson(authorization)) throw error;
      throw challenge(error, request);
    }
  };
