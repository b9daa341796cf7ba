import { ApiError } from './core/api-error.ts';
import { readEnvironment } from './core/environment.ts';
import type { ApiRequest } from './core/http/request.ts';
import { type Action, serve } from './core/http/serve.ts';
import { openAnswers } from './core/mcp/answer.ts';
import { askFunction } from './core/mcp/ask-function.ts';
import { askToSignIn } from './core/mcp/sign-in-challenge.ts';
import { type Endpoints, openTools } from './core/mcp/tools.ts';
import { action as executeIntent } from './execute-intent.ts';
import { action as getIntent } from './get-intent.ts';
import { action as getPolicy } from './get-policy.ts';
import { action as searchIntents } from './search-intents.ts';

export interface Deps {
  endpoints: Endpoints;
  /** whether a signed policy has to carry iat, exp, aud and jti */
  isFreshRequired: boolean;
  /** people can sign in here, for hosts that have no key */
  isSignInOffered: boolean;
  /** of the product */
  version: string;
}

/** `POST /mcp`: the gate as a server of the Model Context Protocol (Streamable HTTP, stateless), for hosts that speak no other protocol. */
export const createAction = ({ endpoints, isFreshRequired, isSignInOffered, version }: Deps): Action => {
  const { executeIntent } = endpoints;
  const offered = isSignInOffered ? { ...endpoints, executeIntent: askToSignIn(executeIntent) } : endpoints;
  const answer = openAnswers(openTools(offered, isFreshRequired), version);

  return async (request) => {
    checkOrigin(request);
    return answer(request);
  };
};

/** A page that reached this address by DNS rebinding reveals its origin (MCP, Streamable HTTP, "Security"). */
function checkOrigin({ headerValues, baseUrl }: ApiRequest): void {
  if (headerValues('origin').every((origin) => origin === new URL(baseUrl).origin)) return;
  throw new ApiError(
    'FORBIDDEN',
    'Pages of other origins may not use this endpoint. Call it from a program, which sends no Origin header.',
    {
      details: { reason: 'origin' },
    },
  );
}

const { version, issueFunction, requireFreshSignature, signInClient } = readEnvironment(
  ['version', 'issueFunction'],
  ['requireFreshSignature', 'signInClient'],
);

export const handler = serve(
  createAction({
    endpoints: { searchIntents, getIntent, getPolicy, issuePat: askFunction(issueFunction, '/api/pat/issue'), executeIntent },
    isFreshRequired: requireFreshSignature === 'true',
    isSignInOffered: signInClient !== undefined,
    version,
  }),
);
