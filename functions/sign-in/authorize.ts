import { authorizationParameters } from '../../schemas/sign-in/sign-in.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { ApiResponse } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import type { IssueCheck } from '../core/pat/bind-agent.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { issueChecksFromEnvironment } from '../features.ts';
import {
  type AuthorizationRequest,
  answerAddress,
  checkAuthorizationRequest,
  grantSilently,
  requireRedirectUri,
} from './authorization-request.ts';
import { type Client, type Clients, clientsFromEnvironment } from './clients.ts';
import { OAuthError, toOAuthError } from './oauth-error.ts';
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
  issueChecks: readonly Pick<IssueCheck, 'notice'>[];
  lifetimes: { patLifeSeconds: number; signInSeconds: number };
}

/**
 * `GET /oauth/authorize`: a person signs in, reads the policy and accepts it for a client (OAuth 2.1 authorization code). Before sign-in, nothing is
 * written and no client document is fetched. Errors are redirected to the client only once its redirect URI has been verified.
 */
export const createAction = ({ clients, signIns, userPool, findPolicy, issueChecks, lifetimes }: Deps): Action => {
  const notices = issueChecks.flatMap(({ notice }) => notice ?? []);

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
    const shown = { client, authRequest, person, sentences, policyReference: reference, notices, baseUrl, formToken: token };
    return consentPage({ ...shown, ...lifetimes });
  }

  return showErrors(async (request) => {
    const [addressee, nowMs] = [request.query(addresseeParameters), Date.now()];
    const session = await findSession(request, signIns, nowMs);
    const client = session
      ? await clients.find(addressee.client_id, request.baseUrl, (read) => signIns.oneAtATime(session.person, nowMs, read))
      : clients.findRegistered(addressee.client_id);
    if (client) requireRedirectUri(client, addressee);
    try {
      return await answer(request, request.query(authorizationParameters), client, session);
    } catch (error) {
      const isInvalid = error instanceof ApiError && error.code === 'INVALID_PARAMETER';
      const refusal = isInvalid ? toOAuthError(error) : error;
      if (!client || !(refusal instanceof OAuthError)) throw error;
      return redirect(answerAddress(addressee, request.baseUrl, refusal));
    }
  });
};

/** What tells to whom an error goes. */
const addresseeParameters = authorizationParameters.pick({ client_id: true, redirect_uri: true, state: true });

const { patLifeSeconds, signInSeconds } = readEnvironment(['patLifeSeconds', 'signInSeconds']);
const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    clients: clientsFromEnvironment(table),
    signIns: openSignIns(table),
    userPool: userPoolFromEnvironment(),
    findPolicy: policyFromEnvironment(table),
    issueChecks: issueChecksFromEnvironment(table),
    lifetimes: { patLifeSeconds: Number(patLifeSeconds), signInSeconds: Number(signInSeconds) },
  }),
);
