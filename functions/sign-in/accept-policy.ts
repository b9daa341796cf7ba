import { acceptForm } from '../../schemas/sign-in/sign-in.ts';
import { type Action, serve } from '../core/http/serve.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { answerAddress, checkAuthorizationRequest, requireRedirectUri, toQuery } from './authorization-request.ts';
import { type Clients, clientsFromEnvironment } from './clients.ts';
import { OAuthError } from './oauth-error.ts';
import { continuePage, showErrors } from './pages.ts';
import { findSession, formToken, isFormToken } from './session.ts';
import { openSignIns, type SignIns } from './sign-ins.ts';

export interface Deps {
  clients: Clients;
  signIns: Pick<SignIns, 'findSession' | 'rememberConsent' | 'keepGrant' | 'oneAtATime'>;
  findPolicy: FindPolicy;
}

/**
 * `POST /oauth/accept`: the submitted consent form. Its token proves that the page was shown to this session, for this request and this policy.
 * The request is validated again all the same, because people can alter their own pages.
 */
export const createAction = ({ clients, signIns, findPolicy }: Deps): Action =>
  showErrors(async (request) => {
    const { baseUrl } = request;
    const nowMs = Date.now();
    const { policy: shown, form_token, decision, ...authRequest } = request.form(acceptForm);
    const session = await findSession(request, signIns, nowMs);
    if (!session || !isFormToken(form_token, formToken(session.secret, [authRequest, shown]))) {
      throw new OAuthError('access_denied', 'This form did not come from a page that you were shown, or your session has ended.', {
        status: 403,
      });
    }
    const client = await clients.find(authRequest.client_id, baseUrl, (read) => signIns.oneAtATime(session.person, nowMs, read));
    requireRedirectUri(client, authRequest);
    const checked = checkAuthorizationRequest(authRequest, baseUrl);
    const respond = (answer: Parameters<typeof answerAddress>[2]) => continuePage(client, answerAddress(authRequest, baseUrl, answer));
    if (decision === 'decline') return respond(new OAuthError('access_denied', 'The person declined.'));

    const policy = (await findPolicy(baseUrl)).reference;
    // the policy has changed since the page was shown, so the person has to read the new one first
    if (policy !== shown) return { status: 303, headers: { Location: `${baseUrl}/oauth/authorize?${toQuery(authRequest)}` } };
    const grant = { ...checked, person: session.person, policy };
    const [code] = await Promise.all([signIns.keepGrant(grant, nowMs), signIns.rememberConsent(grant, nowMs)]);
    return respond({ code });
  });

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    clients: clientsFromEnvironment(table),
    signIns: openSignIns(table),
    findPolicy: policyFromEnvironment(table),
  }),
);
