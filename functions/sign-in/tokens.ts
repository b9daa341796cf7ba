import { createHash } from 'node:crypto';
import type * as z from 'zod';
import { refreshForm, revocationForm, tokenForm } from '../../schemas/sign-in/sign-in.ts';
import { isUnblockedSince } from '../core/activity/agent.ts';
import type { UsedJtis } from '../core/activity/used-jti.ts';
import type { ApiRequest } from '../core/http/request.ts';
import { type ApiResponse, ok } from '../core/http/response.ts';
import { personOf, signedInAgentId } from '../core/pat/holder.ts';
import { type Applicant, type IssuerParts, type IssuerSettings, openIssuer } from '../core/pat/issue.ts';
import type { CurrentPolicy, FindPolicy } from '../core/policy/policy.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { isResource, normalResource } from './authorization-request.ts';
import { scopesSupported } from './metadata.ts';
import { OAuthError } from './oauth-error.ts';
import type { RefreshGrant, RefreshTokens } from './refresh-tokens.ts';
import type { AuthorizationGrant, SignIns } from './sign-ins.ts';

export interface TokenParts extends Omit<IssuerParts, 'settings'> {
  findPolicy: FindPolicy;
  signIns: Pick<SignIns, 'findGrant'>;
  refreshTokens: RefreshTokens;
  usedJtis: UsedJtis;
  settings: Omit<IssuerSettings, 'isSharingAllowed'> & {
    /** how long PATs may be renewed after the first one */
    signInSeconds: number;
  };
}

/**
 * Issues the PATs of people who have accepted the policy for a client. A code is verified, then consumed by one conditional write, then used:
 * of several requests with the same code, at most one gets a PAT. A refresh token is consumed last, so that a failure of the gate never costs a
 * client its token.
 */
export function openTokens({ findPolicy, signIns, refreshTokens, usedJtis, settings, ...parts }: TokenParts) {
  const issue = openIssuer({ ...parts, settings: { ...settings, isSharingAllowed: false } });

  /** @param steps - `complete` creates the refresh token that comes with the PAT */
  async function issueTo(
    { subject, clientId }: Pick<RefreshGrant, 'subject' | 'clientId'>,
    steps: Pick<Applicant<string>, 'request' | 'policy' | 'nowMs' | 'check' | 'consumeTokens' | 'complete'>,
  ): Promise<ApiResponse> {
    const agentId = signedInAgentId(subject, clientId);
    const applicant = { agentId, thumbprint: personOf(subject), hasProof: false, clientId };
    const { pat, claims, headers, completed } = await issue({ ...applicant, ...steps });
    const { patLifeSeconds: expires_in } = settings;
    return ok(
      {
        access_token: pat,
        token_type: 'Bearer',
        expires_in,
        refresh_token: completed,
        scope: [...claims.scope, ...scopesSupported].join(' '),
      },
      { Pragma: 'no-cache', ...headers },
    );
  }

  async function exchange(request: ApiRequest, nowMs: number): Promise<ApiResponse> {
    const form = request.form(tokenForm);
    const policy = await findPolicy(request.baseUrl);
    const found = await signIns.findGrant(form.code, nowMs);
    if (!found) throw invalidCode();
    const { id, grant, family, expiresAt } = found;
    checkGrant(form, grant, policy, request.baseUrl);
    const { subject } = grant.person;
    const { clientId, resource = form.resource } = grant;
    return issueTo(
      { subject, clientId },
      {
        request,
        policy,
        nowMs,
        consumeTokens: async () => {
          if (await usedJtis.consume('code', id, expiresAt)) return;
          // RFC 6749 section 4.1.2
          await refreshTokens.endForGood(family, nowMs);
          throw invalidCode();
        },
        complete: async (generation) => {
          const first = { subject, clientId, resource, policy: grant.policy, generation, startedMs: nowMs };
          const token = await refreshTokens.start(family, first, nowMs, settings.signInSeconds);
          // the code was used again in the meantime
          if (token === undefined) throw invalidCode();
          return token;
        },
      },
    );
  }

  async function renew(request: ApiRequest, nowMs: number): Promise<ApiResponse> {
    const form = request.form(refreshForm);
    const policy = await findPolicy(request.baseUrl);
    const found = await refreshTokens.findOrEnd(form.refresh_token, nowMs);
    // with another client_id, the token stays valid for its own client
    if (!found || found.grant.clientId !== form.client_id) throw invalidRefreshToken();
    const { family, grant } = found;
    checkResource(form, grant, request.baseUrl);
    /** Ends the family for good, even if an admin later undoes the reason. */
    const endWith = async (error: unknown): Promise<never> => {
      await refreshTokens.end(family);
      throw error;
    };
    if (grant.policy !== policy.reference) return endWith(policyChanged());
    return issueTo(grant, {
      request,
      policy,
      nowMs,
      check: async (records) => {
        if (records.agent?.generation !== grant.generation || isUnblockedSince(records, grant.startedMs)) await endWith(revoked());
      },
      complete: async (generation) => {
        if (generation !== grant.generation) throw revoked();
        const next = await refreshTokens.rotate(found, nowMs);
        if (next === undefined) throw invalidRefreshToken();
        return next;
      },
    }).catch((error: unknown) => (error instanceof ApiError && error.code === 'POLICY_REJECTED' ? endWith(error) : Promise.reject(error)));
  }

  /** The response does not reveal whether the token existed (RFC 7009 section 2.2). */
  async function revoke(request: ApiRequest, nowMs: number): Promise<ApiResponse> {
    const form = request.form(revocationForm);
    if (form.token.split('.').length === 3) throw accessTokenStaysValid();
    const found = await refreshTokens.findOrEnd(form.token, nowMs);
    if (found?.grant.clientId === form.client_id) await refreshTokens.end(found.family);
    return { status: 200, headers: { Pragma: 'no-cache' } };
  }

  return { exchange, renew, revoke };
}

/** @throws OAuthError if the code was issued for another request or policy */
function checkGrant(form: z.infer<typeof tokenForm>, grant: AuthorizationGrant, policy: CurrentPolicy, baseUrl: string): void {
  const challenge = createHash('sha256').update(form.code_verifier).digest('base64url');
  const isRedirected = grant.redirectUri === (form.redirect_uri ?? grant.redirectUri);
  if (grant.clientId !== form.client_id || !isRedirected || grant.codeChallenge !== challenge) throw invalidCode();
  checkResource(form, grant, baseUrl);
  if (grant.policy !== policy.reference) throw policyChanged();
}

/**
 * A resource that neither request names is the gate, the only one that it issues tokens for (RFC 8707 section 2).
 * @throws OAuthError if both requests name one and they differ, or it is not this gate
 */
function checkResource(form: { resource?: string | undefined }, grant: { resource?: string | undefined }, baseUrl: string): void {
  const resource = form.resource ?? grant.resource ?? baseUrl;
  if (isResource(resource, baseUrl) && normalResource(resource) === normalResource(grant.resource ?? resource)) return;
  throw new OAuthError('invalid_target', 'The resource must be this gate; if the authorization request names one, the same.');
}

/** RFC 7009 section 2.2.1. */
const accessTokenStaysValid = () =>
  new OAuthError(
    'unsupported_token_type',
    'Access tokens cannot be revoked here; they work until they expire. Send the refresh token, so that the access is not renewed.',
  );

const policyChanged = () =>
  new OAuthError('invalid_grant', 'The policy has changed since the person accepted it. Send the person to /oauth/authorize again.');

const revoked = () =>
  new OAuthError('invalid_grant', 'The operators of this gate have revoked this consent. Send the person to /oauth/authorize again.');

const invalidRefreshToken = () =>
  new OAuthError(
    'invalid_grant',
    'The refresh token is unknown, used, revoked or expired, or was issued to another client_id. Send the person to /oauth/authorize again.',
  );

const invalidCode = () =>
  new OAuthError(
    'invalid_grant',
    'The code is unknown, used or more than a minute old, or was issued for another client_id, redirect_uri or code_verifier. Get a new one at /oauth/authorize.',
  );
