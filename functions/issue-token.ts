import { createHash } from 'node:crypto';
import type * as z from 'zod';
import { refreshForm, revocationForm, tokenForm } from '../schemas/sign-in.ts';
import { openApplicants } from './core/activity/applicants.ts';
import { openPolicyArchive } from './core/activity/policy-archive.ts';
import { openRefreshTokens, type RefreshGrant, type RefreshTokens } from './core/activity/refresh-tokens.ts';
import { type Grant, openSignIns, type SignIns } from './core/activity/sign-ins.ts';
import { openUsedJtis, type UsedJtis } from './core/activity/used-jti.ts';
import { ApiError } from './core/api-error.ts';
import { readEnvironment } from './core/environment.ts';
import type { ApiRequest } from './core/http/request.ts';
import { type ApiResponse, ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { openRateLimiter } from './core/limit/rate-limiter.ts';
import { personOf, signedInAgentId } from './core/pat/holder.ts';
import { type Applicant, type IssuerParts, type IssuerSettings, openIssuer } from './core/pat/issue.ts';
import { signingKeysFromEnvironment } from './core/pat/signing-keys.ts';
import { type CurrentPolicy, type FindPolicy, loadPolicyTemplate, openPolicy, parseBilling } from './core/policy/policy.ts';
import { isResource } from './core/sign-in/authorization-request.ts';
import { answerInOAuth, OAuthError } from './core/sign-in/oauth-error.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps extends Omit<IssuerParts, 'settings'> {
  findPolicy: FindPolicy;
  signIns: Pick<SignIns, 'findGrant'>;
  refreshTokens: RefreshTokens;
  usedJtis: UsedJtis;
  settings: Omit<IssuerSettings, 'isSharingAllowed'> & {
    /** how long PATs may be renewed, from the first one on */
    signInSeconds: number;
  };
}

/**
 * `POST /oauth/token`: the PAT of a person who has accepted the policy for a client. A code is verified first, then consumed by one conditional write,
 * then acted upon: of any number of requests with it, at most one gets a PAT. A refresh token is consumed last, when its PAT is signed, so that no failure of
 * the gate costs a client its token. `/oauth/revoke` ends what a refresh token stands for (RFC 7009).
 */
export const createAction = ({ findPolicy, signIns, refreshTokens, usedJtis, settings, ...parts }: Deps): Action => {
  const issue = openIssuer({ ...parts, settings: { ...settings, isSharingAllowed: false } });

  /** The PAT of a person with a client. `complete` makes the refresh token that comes with it. */
  async function issueTo(
    { subject, clientId }: Pick<RefreshGrant, 'subject' | 'clientId'>,
    steps: Pick<Applicant<string>, 'request' | 'policy' | 'nowMs' | 'check' | 'useUp' | 'complete'>,
  ): Promise<ApiResponse> {
    const agentId = signedInAgentId(subject, clientId);
    const applicant = { agentId, thumbprint: personOf(subject), hasProof: false, clientId, countedFor: 'person and client' };
    const { pat, claims, headers, completed } = await issue({ ...applicant, ...steps });
    const { patLifeSeconds: expires_in } = settings;
    return ok(
      { access_token: pat, token_type: 'Bearer', expires_in, refresh_token: completed, scope: claims.scope.join(' ') },
      { Pragma: 'no-cache', ...headers },
    );
  }

  async function exchange(request: ApiRequest, nowMs: number): Promise<ApiResponse> {
    const asked = request.form(tokenForm);
    const policy = findPolicy(request.baseUrl);
    const found = await signIns.findGrant(asked.code, nowMs);
    if (!found) throw invalidCode();
    const { id, grant, family, expiresAt } = found;
    checkGrant(asked, grant, policy, request.baseUrl);
    const { subject } = grant.person;
    const { clientId, resource } = grant;
    return issueTo(
      { subject, clientId },
      {
        request,
        policy,
        nowMs,
        useUp: async () => {
          if (await usedJtis.consume('code', id, expiresAt)) return;
          // RFC 6749 section 4.1.2
          await refreshTokens.endForGood(family, nowMs);
          throw invalidCode();
        },
        complete: async (generation) => {
          const first = { subject, clientId, resource, policy: grant.policy, generation };
          const token = await refreshTokens.start(family, first, nowMs, settings.signInSeconds);
          // somebody else has used the code in the meantime
          if (token === undefined) throw invalidCode();
          return token;
        },
      },
    );
  }

  async function renew(request: ApiRequest, nowMs: number): Promise<ApiResponse> {
    const asked = request.form(refreshForm);
    const policy = findPolicy(request.baseUrl);
    const found = await refreshTokens.findOrEnd(asked.refresh_token, nowMs);
    // a token that was presented with another client_id can still be used by the client that it was issued to
    if (!found || found.grant.clientId !== asked.client_id) throw invalidRefreshToken();
    const { family, grant } = found;
    if (asked.resource !== undefined && asked.resource !== grant.resource) throw wrongResource();
    /** Ends the family for a reason that only this answer names. It stays ended even if an admin undoes the reason, say lifts a block. */
    const endWith = async (error: unknown): Promise<never> => {
      await refreshTokens.end(family);
      throw error;
    };
    if (grant.policy !== policy.reference) return endWith(policyChanged());
    return issueTo(grant, {
      request,
      policy,
      nowMs,
      check: async (generation) => generation === grant.generation || endWith(revoked()),
      complete: async (generation) => {
        if (generation !== grant.generation) throw revoked();
        const next = await refreshTokens.rotate(found);
        if (next === undefined) throw invalidRefreshToken();
        return next;
      },
    }).catch((error: unknown) => (error instanceof ApiError && error.code === 'POLICY_REJECTED' ? endWith(error) : Promise.reject(error)));
  }

  /** Whether there was such a token is nobody's business (RFC 7009 section 2.2). */
  async function revoke(request: ApiRequest, nowMs: number): Promise<ApiResponse> {
    const asked = request.form(revocationForm);
    const found = await refreshTokens.findOrEnd(asked.token, nowMs);
    if (found?.grant.clientId === asked.client_id) await refreshTokens.end(found.family);
    return { status: 200, headers: { Pragma: 'no-cache' } };
  }

  return answerInOAuth(async (request) => {
    const nowMs = Date.now();
    if (request.headerValues('authorization').length > 0) throw noAuthentication();
    if (request.route === '/oauth/revoke') return revoke(request, nowMs);
    const { grant_type } = request.form(tokenForm.pick({ grant_type: true }));
    if (grant_type === 'authorization_code') return exchange(request, nowMs);
    if (grant_type === 'refresh_token') return renew(request, nowMs);
    throw new OAuthError('unsupported_grant_type', 'The grant_type must be authorization_code or refresh_token.');
  });
};

/** @throws OAuthError if the code was issued for anything else than this */
function checkGrant(asked: z.infer<typeof tokenForm>, grant: Grant, policy: CurrentPolicy, baseUrl: string): void {
  const challenge = createHash('sha256').update(asked.code_verifier).digest('base64url');
  if (grant.clientId !== asked.client_id || grant.redirectUri !== asked.redirect_uri || grant.codeChallenge !== challenge)
    throw invalidCode();
  if (grant.resource !== asked.resource || !isResource(grant.resource, baseUrl)) {
    throw wrongResource();
  }
  if (grant.policy !== policy.reference) throw policyChanged();
}

const wrongResource = () => new OAuthError('invalid_target', 'The resource must be the one of the authorization request.');

const policyChanged = () =>
  new OAuthError('invalid_grant', 'The policy has changed since it was accepted. Ask the person again at /oauth/authorize.');

const revoked = () =>
  new OAuthError('invalid_grant', 'The operators of this gate have revoked what was accepted. Ask the person again at /oauth/authorize.');

const invalidRefreshToken = () =>
  new OAuthError(
    'invalid_grant',
    'The refresh token is not known, has been used or revoked, has expired, or was issued to another client_id. Ask the person again at /oauth/authorize.',
  );

const noAuthentication = () =>
  new OAuthError(
    'invalid_client',
    'Clients of this gate have no secret. Send the client_id in the form, without an Authorization header.',
    {
      status: 401,
      headers: { 'WWW-Authenticate': 'Basic realm="intent-gate"' },
    },
  );

const invalidCode = () =>
  new OAuthError(
    'invalid_grant',
    'The code is not known, has been used, is older than a minute, or was issued to another client_id, redirect_uri or code_verifier. Ask for a new one at /oauth/authorize.',
  );

const environment = readEnvironment(['patLifeSeconds', 'signInSeconds', 'issueLimitPerHour'], ['billing', 'agents']);
const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    findPolicy: openPolicy(loadPolicyTemplate(), parseBilling(environment.billing)),
    agents: openApplicants(table),
    archive: openPolicyArchive(table),
    signIns: openSignIns(table),
    refreshTokens: openRefreshTokens(table),
    usedJtis: openUsedJtis(table),
    limits: openRateLimiter(table),
    signingKeys: signingKeysFromEnvironment(),
    settings: {
      patLifeSeconds: Number(environment.patLifeSeconds),
      signInSeconds: Number(environment.signInSeconds),
      issueLimitPerHour: Number(environment.issueLimitPerHour),
      isApprovalRequired: environment.agents === 'approved',
    },
  }),
);
