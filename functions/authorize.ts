import { authorizationParameters } from '../schemas/sign-in.ts';
import { openSignIns, type SignIns } from './core/activity/sign-ins.ts';
import { readEnvironment, splitList } from './core/environment.ts';
import type { ApiRequest } from './core/http/request.ts';
import type { ApiResponse } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type FindPolicy, loadPolicyTemplate, openPolicy } from './core/policy/policy.ts';
import { egressRulesFromEnvironment } from './core/relay/egress.ts';
import { openDocumentReader } from './core/relay/fetch-document.ts';
import {
  type AuthorizationRequest,
  answerAddress,
  checkAuthorizationRequest,
  requireRedirectUri,
  toQuery,
} from './core/sign-in/authorization-request.ts';
import { type Client, type Clients, documentLimits, openClients } from './core/sign-in/clients.ts';
import { formToken, writeCookie } from './core/sign-in/cookie.ts';
import { OAuthError } from './core/sign-in/oauth-error.ts';
import { consentPage, showErrors } from './core/sign-in/pages.ts';
import { isLoopback } from './core/sign-in/redirect-uri.ts';
import { findSession, type Session } from './core/sign-in/session.ts';
import { type UserPool, userPoolFromEnvironment } from './core/sign-in/user-pool.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  clients: Clients;
  signIns: Pick<SignIns, 'findSession' | 'hasConsented' | 'keepGrant' | 'oneAtATime'>;
  userPool: Pick<UserPool, 'begin' | 'signInAddress'>;
  findPolicy: FindPolicy;
  patLifeSeconds: number;
  /** how long the program may renew PATs */
  signInSeconds: number;
}

/** How long a person may take at the user pool's sign-in page, in seconds. */
const attemptSeconds = 15 * 60;

/** Browsers keep cookies of 4,096 bytes with their attributes. */
const maxCookieLength = 3_800;

const redirect = (address: string, headers: Record<string, string> = {}): ApiResponse => ({
  status: 302,
  headers: { Location: address, 'Referrer-Policy': 'no-referrer', ...headers },
});

/**
 * `GET /oauth/authorize`: lets a person sign in, read the policy and accept it for a program (OAuth 2.1 authorization code). Nothing is written and
 * no address is called for somebody who has not signed in; what is wrong is told to the client only once its redirect URI is known to be its own.
 */
export const createAction = ({ clients, signIns, userPool, findPolicy, patLifeSeconds, signInSeconds }: Deps): Action => {
  const signIn = (request: ApiRequest, asked: AuthorizationRequest): ApiResponse => {
    const attempt = userPool.begin();
    const remembered = new URLSearchParams([...toQuery(asked), ['attempt', attempt.state], ['verifier', attempt.verifier]]).toString();
    if (remembered.length > maxCookieLength)
      throw new OAuthError('invalid_request', 'The request is too long. Shorten state and addresses.');
    return redirect(userPool.signInAddress(attempt, request.baseUrl), writeCookie(request, remembered, attemptSeconds));
  };

  async function answer(request: ApiRequest, asked: AuthorizationRequest, client: Client | undefined, session: Session | undefined) {
    const { baseUrl } = request;
    const nowMs = Date.now();
    const checked = checkAuthorizationRequest(asked, baseUrl);
    const isSilent = asked.prompt === 'none';
    if (!session || !client) {
      if (isSilent) throw new OAuthError('login_required', 'The person has to sign in. Ask again without prompt=none.');
      return signIn(request, asked);
    }
    const { secret, person } = session;
    const policy = findPolicy(baseUrl);
    if (isSilent) {
      const grant = { ...checked, person, policy: policy.reference };
      // any program of the machine may listen there, so somebody has to look (RFC 8252 section 8.6)
      const maySkip = !isLoopback(asked.redirect_uri) && (await signIns.hasConsented(grant, nowMs));
      if (!maySkip) throw new OAuthError('consent_required', 'The person has to accept the policy. Ask again without prompt=none.');
      return redirect(answerAddress(asked, baseUrl, { code: await signIns.keepGrant(grant, nowMs) }));
    }
    return consentPage({
      client,
      asked,
      person,
      policy: policy.policy,
      policyReference: policy.reference,
      baseUrl,
      patLifeSeconds,
      signInSeconds,
      formToken: formToken(secret, [asked, policy.reference]),
    });
  }

  return showErrors(async (request) => {
    const asked = request.query(authorizationParameters);
    const nowMs = Date.now();
    const session = await findSession(request, signIns, nowMs);
    const client = session
      ? await clients.find(asked.client_id, request.baseUrl, (read) => signIns.oneAtATime(session.person, nowMs, read))
      : clients.findRegistered(asked.client_id);
    if (client) requireRedirectUri(client, asked);
    try {
      return await answer(request, asked, client, session);
    } catch (error) {
      if (!client || !(error instanceof OAuthError)) throw error;
      return redirect(answerAddress(asked, request.baseUrl, error));
    }
  });
};

const { patLifeSeconds, signInSeconds, signInRedirects } = readEnvironment(['patLifeSeconds', 'signInSeconds'], ['signInRedirects']);

export const handler = serve(
  createAction({
    clients: openClients(splitList(signInRedirects), openDocumentReader({ rules: egressRulesFromEnvironment(), ...documentLimits })),
    signIns: openSignIns(tableFromEnvironment()),
    userPool: userPoolFromEnvironment(),
    findPolicy: openPolicy(loadPolicyTemplate()),
    patLifeSeconds: Number(patLifeSeconds),
    signInSeconds: Number(signInSeconds),
  }),
);
