import { tokenForm } from '../../schemas/sign-in/sign-in.ts';
import { openUsedJtis } from '../core/activity/used-jti.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { issuerPartsFromEnvironment } from '../core/pat/issue.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { issueChecksFromEnvironment } from '../features.ts';
import { answerInOAuth, OAuthError } from './oauth-error.ts';
import { openRefreshTokens } from './refresh-tokens.ts';
import { openSignIns } from './sign-ins.ts';
import { openTokens, type TokenParts } from './tokens.ts';

/** `POST /oauth/token`: exchanges an authorization code or a refresh token for a PAT. `/oauth/revoke` revokes a refresh token (RFC 7009). */
export const createAction = (parts: TokenParts): Action => {
  const { exchange, renew, revoke } = openTokens(parts);
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

const noAuthentication = () =>
  new OAuthError(
    'invalid_client',
    'Clients of this gate have no secret. Send the client_id in the form, without an Authorization header.',
    {
      status: 401,
      headers: { 'WWW-Authenticate': 'Basic realm="intent-gate"' },
    },
  );

const { signInSeconds } = readEnvironment(['signInSeconds']);
const table = tableFromEnvironment();
const { settings, ...parts } = issuerPartsFromEnvironment(table, issueChecksFromEnvironment(table));

export const handler = serve(
  createAction({
    ...parts,
    findPolicy: policyFromEnvironment(table),
    signIns: openSignIns(table),
    refreshTokens: openRefreshTokens(table),
    usedJtis: openUsedJtis(table),
    settings: { ...settings, signInSeconds: Number(signInSeconds) },
  }),
);
