import { createHash } from 'node:crypto';
import type * as z from 'zod';
import { tokenForm } from '../schemas/sign-in.ts';
import { readEnvironment } from './core/environment.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { limitExceeded, rateLimitHeaders } from './core/limit/limit-answers.ts';
import { countCalls, openRateLimiter, type RateLimiter } from './core/limit/rate-limiter.ts';
import { log } from './core/log.ts';
import { bindAgent, findAgent } from './core/pat/bind-agent.ts';
import { newClaims } from './core/pat/claims.ts';
import { accountOf, personOf, signedInAgentId } from './core/pat/holder.ts';
import { type SigningKeys, signingKeysFromEnvironment } from './core/pat/signing-keys.ts';
import { signPat } from './core/pat/token.ts';
import { type CurrentPolicy, type FindPolicy, loadPolicyTemplate, openPolicy, parseBilling } from './core/policy/policy.ts';
import { isResource } from './core/sign-in/authorization-request.ts';
import { answerInOAuth, OAuthError } from './core/sign-in/oauth-error.ts';
import { type Agents, openAgents } from './core/store/agent.ts';
import { openPolicyArchive, type PolicyArchive } from './core/store/policy-archive.ts';
import { type Grant, openSignIns, type SignIns } from './core/store/sign-ins.ts';
import { tableFromEnvironment } from './core/store/table.ts';
import { openUsedJtis, type UsedJtis } from './core/store/used-jti.ts';

export interface Settings {
  patLifeSeconds: number;
  issueLimitPerHour: number;
  /** agents have to be approved before their first PAT */
  isApprovalRequired: boolean;
}

export interface Deps {
  findPolicy: FindPolicy;
  agents: Pick<Agents, 'standingOf' | 'bind' | 'ask'>;
  archive: Pick<PolicyArchive, 'keep'>;
  signIns: Pick<SignIns, 'findGrant'>;
  usedJtis: UsedJtis;
  limits: Pick<RateLimiter, 'consume' | 'findRefusal'>;
  signingKeys: SigningKeys;
  settings: Settings;
}

/**
 * `POST /oauth/token`: the PAT of a person who has accepted the policy for a client. The code is verified first, then consumed by one conditional write,
 * then acted upon: of any number of requests with it, one gets a PAT.
 */
export const createAction = ({ findPolicy, agents, archive, signIns, usedJtis, limits, signingKeys, settings }: Deps): Action =>
  answerInOAuth(async (request) => {
    const { baseUrl } = request;
    const nowMs = Date.now();
    if (request.headerValues('authorization').length > 0) throw noAuthentication();
    const { grant_type } = request.form(tokenForm.pick({ grant_type: true }));
    if (grant_type !== 'authorization_code') throw new OAuthError('unsupported_grant_type', 'The grant_type must be authorization_code.');
    const asked = request.form(tokenForm);
    const policy = findPolicy(baseUrl);
    const found = await signIns.findGrant(asked.code, nowMs);
    if (!found) throw invalidGrant();
    const { id, grant, expiresAt } = found;
    checkGrant(asked, grant, policy, baseUrl);

    const { subject } = grant.person;
    const thumbprint = personOf(subject);
    const agentId = signedInAgentId(subject, grant.clientId);
    const counter = countCalls(accountOf(agentId, thumbprint), 'issue', { rate: settings.issueLimitPerHour, period: 3_600 });
    const known = limits.findRefusal(counter);
    if (known) throw limitExceeded(known, { message: tooManyIssued });
    const presented = { agentId, thumbprint, nowMs, hasProof: false };
    const rules = { isApprovalRequired: settings.isApprovalRequired, isSharingAllowed: false };
    const seen = await findAgent(agents, presented, rules);

    if (!(await usedJtis.consume('code', id, expiresAt))) throw invalidGrant();
    const decision = await limits.consume(counter);
    if (!decision.isAdmitted) throw limitExceeded(decision, { message: tooManyIssued });
    const [agent] = await Promise.all([bindAgent(agents, presented, seen, rules), archive.keep(policy.reference, policy.policy)]);

    const lifeSeconds = settings.patLifeSeconds;
    const claims = newClaims({ baseUrl, agent, policy, hasProof: false, clientId: grant.clientId, nowMs, lifeSeconds });
    const pat = await signPat(signingKeys, claims);
    log.info('issued', { request_id: request.requestId, agent_id: claims.sub, thumbprint, jti: claims.jti, policy_digest: policy.digest });
    return ok(
      { access_token: pat, token_type: 'Bearer', expires_in: lifeSeconds, scope: claims.scope.join(' ') },
      { Pragma: 'no-cache', ...rateLimitHeaders(decision) },
    );
  });

/** @throws OAuthError if the code was issued for anything else than this */
function checkGrant(asked: z.infer<typeof tokenForm>, grant: Grant, policy: CurrentPolicy, baseUrl: string): void {
  const challenge = createHash('sha256').update(asked.code_verifier).digest('base64url');
  if (grant.clientId !== asked.client_id || grant.redirectUri !== asked.redirect_uri || grant.codeChallenge !== challenge)
    throw invalidGrant();
  if (grant.resource !== asked.resource || !isResource(grant.resource, baseUrl)) {
    throw new OAuthError('invalid_target', 'The resource must be the one of the authorization request.');
  }
  if (grant.policy !== policy.reference) {
    throw new OAuthError('invalid_grant', 'The policy has changed since it was accepted. Ask the person again at /oauth/authorize.');
  }
}

const noAuthentication = () =>
  new OAuthError(
    'invalid_client',
    'Clients of this gate have no secret. Send the client_id in the form, without an Authorization header.',
    {
      status: 401,
      headers: { 'WWW-Authenticate': 'Basic realm="intent-gate"' },
    },
  );

const invalidGrant = () =>
  new OAuthError(
    'invalid_grant',
    'The code is not known, has been used, is older than a minute, or was issued to another client_id, redirect_uri or code_verifier. Ask for a new one at /oauth/authorize.',
  );

const tooManyIssued =
  'Too many PATs have been issued to this person and client. Use the one you have, or ask again after Retry-After seconds.';

const environment = readEnvironment(['patLifeSeconds', 'issueLimitPerHour'], ['billing', 'agents']);
const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    findPolicy: openPolicy(loadPolicyTemplate(), parseBilling(environment.billing)),
    agents: openAgents(table),
    archive: openPolicyArchive(table),
    signIns: openSignIns(table),
    usedJtis: openUsedJtis(table),
    limits: openRateLimiter(table),
    signingKeys: signingKeysFromEnvironment(),
    settings: {
      patLifeSeconds: Number(environment.patLifeSeconds),
      issueLimitPerHour: Number(environment.issueLimitPerHour),
      isApprovalRequired: environment.agents === 'approved',
    },
  }),
);
