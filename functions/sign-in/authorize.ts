import { authorizationParameters } from '../../schemas/sign-in/sign-in.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { ApiResponse } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import {
  type AuthorizationRequest,
  answerAddress,
  checkAuthorizationRequest,
  grantSilently,
  requireRedirectUri,
} from './authorization-request.ts';
import { type Client, type Clients, clientsFromEnvironment } from './clients.ts';
import { OAuthError } from './oauth-error.ts';
import { consentPage, redirect, showErrors } from './pages.ts';
import { findSession, formToken, type Session } from './session.ts';
import { beginSignIn } from './sign-in-attempt.ts';
import { openSignIns, type SignIns } from './sign-ins.ts';
import { type UserPool, userPoolFromEnvironment } from './user-pool.ts';

export interface Deps {
  clients: Clients;
  signIns: Pick<SignIns, 'findSession' | 'hasConsented' | 'keepGrant' | 'oneAtATime'>;
  userPool: Pick<UserPool, 'begin' | 'signInAddress'>;
  findPolicy: FindPolicy;
  lifetimes: { patLifeSeconds: number; signInSeconds: number };
}

/**
 * `GET /oauth/authorize`: a person signs in, reads the policy and accepts it for a client (OAuth 2.1 authorization code). Before sign-in, nothing is
 * written and no client document is fetched. Errors are redirected to the client only once its redirect URI has been verified.
 */
export const createAction = ({ clients, signIns, userPool, findPolicy, lifetimes }: Deps): Action => {
  async function answer(request: ApiRequest, authRequest: AuthorizationRequest, client?: Client, session?: Session): Promise<ApiResponse> {
    const { baseUrl } = request;
    const checked = checkAuthorizationRequest(authRequest, baseUrl);
    if (!session || !client) {
      if (authRequest.prompt !== 'none') return beginSignIn(userPool, request, authRequest);
      throw new OAuthError('login_required', 'The person has to sign in. Send the request again without prompt=none.');
    }
    const { secret, person } = session;
    const { sentences, reference } = await findPolicy(baseUrl);
    if (authRequest.prompt === 'none') {
      const code = await grantSilently(signIns, { ...checked, person, policy: reference }, Date.now());
      return redirect(answerAddress(authRequest, baseUrl, { code }));
    }
    const token = formToken(secret, [authRequest, reference]);
    return consentPage({ client, authRequest, person, sentences, policyReference: reference, baseUrl, ...lifetimes, formToken: token });
  }

  return showErrors(async (request) => {
    const [authRequest, nowMs] = [request.query(authorizationParameters), Date.now()];
    const session = await findSession(request, signIns, nowMs);
    const client = session
      ? await clients.find(authRequest.client_id, request.baseUrl, (read) => signIns.oneAtATime(session.person, nowMs, read))
      : clients.findRegistered(authRequest.client_id);
    if (client) requireRedirectUri(client, authRequest);
    try {
      return await answer(request, authRequest, client, session);
    } catch (error) {
      if (!client || !(error instanceof OAuthError)) throw error;
      return redirect(answerAddress(authRequest, request.baseUrl, error));
    }
  });
};

const { patLifeSeconds, signInSeconds } = readEnvironment(['patLifeSeconds', 'signInSeconds']);
const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    clients: clientsFromEnvironment(table),
    signIns: openSignIns(table),
    userPool: userPoolFromEnvironment(),
    findPolicy: policyFromEnvironment(table),
    lifetimes: { patLifeSeconds: Number(patLifeSeconds), signInSeconds: Number(signInSeconds) },
  }),
);
