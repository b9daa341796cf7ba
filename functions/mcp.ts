import { ApiError } from './core/api-error.ts';
import { readEnvironment } from './core/environment.ts';
import { bearerToken } from './core/http/bearer.ts';
import type { ApiRequest } from './core/http/request.ts';
import { type Action, serve } from './core/http/serve.ts';
import { openAnswers } from './core/mcp/answer.ts';
import { askFunction } from './core/mcp/ask-function.ts';
import { askToSignIn, withSignIn } from './core/mcp/sign-in-challenge.ts';
import { type Endpoints, openTools } from './core/mcp/tools.ts';
import { signingKeysFromEnvironment } from './core/pat/signing-keys.ts';
import { openPatVerifier, type VerifyPat } from './core/pat/verify.ts';
import { action as executeIntent } from './execute-intent.ts';
import { action as getIntent } from './get-intent.ts';
import { action as getPolicy } from './get-policy.ts';
import { action as searchIntents } from './search-intents.ts';

export interface Deps {
  endpoints: Endpoints;
  verifyPat: VerifyPat;
  /** whether a signed policy has to carry iat, exp, aud and jti */
  isFreshRequired: boolean;
  /** people can sign in here, for hosts that have no key */
  isSignInOffered: boolean;
  /** of the product */
  version: string;
}

/** `POST /mcp`: the gate as a server of the Model Context Protocol (Streamable HTTP, stateless), for hosts that speak no other protocol. */
export const createAction = ({ endpoints, verifyPat, isFreshRequired, isSignInOffered, version }: Deps): Action => {
  const { executeIntent } = endpoints;
  const offered = isSignInOffered ? { ...endpoints, executeIntent: askToSignIn(executeIntent) } : endpoints;
  const answer = openAnswers(openTools(offered, isFreshRequired), version);

  return async (request) => {
    checkOrigin(request);
    try {
      await checkToken(request, verifyPat);
      return await answer(request);
    } catch (error) {
      throw isSignInOffered ? withSignIn(error, request) : error;
    }
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

/** No token is needed to connect; a token that is sent has to be valid, whatever the message. */
async function checkToken(request: ApiRequest, verifyPat: VerifyPat): Promise<void> {
  if (request.headerValues('authorization').length === 0) return;
  await verifyPat(bearerToken(request, 'DPoP'), { baseUrl: request.baseUrl, nowMs: Date.now() });
}

const { version, issueFunction, requireFreshSignature, signInClient } = readEnvironment(
  ['version', 'issueFunction'],
  ['requireFreshSignature', 'signInClient'],
);

export const handler = serve(
  createAction({
    endpoints: { searchIntents, getIntent, getPolicy, issuePat: askFunction(issueFunction, '/api/pat/issue'), executeIntent },
    verifyPat: openPatVerifier({ findKey: signingKeysFromEnvironment().find }),
    isFreshRequired: requireFreshSignature === 'true',
    isSignInOffered: signInClient !== undefined,
    version,
  }),
);
