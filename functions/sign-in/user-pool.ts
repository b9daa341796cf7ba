import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { openAccessTokenVerifier } from '../core/admin/verify-admin.ts';
import { unavailable } from '../core/runtime/api-error.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { bounded } from '../core/runtime/invocation.ts';
import { OAuthError } from './oauth-error.ts';
import type { Person } from './sign-ins.ts';

/** State of a sign-in while the person is at the user pool. */
export interface SignInAttempt {
  state: string;
  verifier: string;
}

export interface UserPoolSettings {
  userPool: string;
  /** address of its sign-in pages, for example `https://<prefix>.auth.<region>.amazoncognito.com` */
  domain: string;
  clientId: string;
}

const timeoutMs = 5_000;

const answerSchema = z.object({ access_token: z.string() });

const notSignedIn = () => new OAuthError('access_denied', 'The sign-in service did not confirm your sign-in.');

const callback = (baseUrl: string): string => `${baseUrl}/oauth/signed-in`;

/** The gate as a client of the user pool (authorization code with PKCE). */
export function openUserPool({ userPool, domain, clientId }: UserPoolSettings) {
  const verify = openAccessTokenVerifier(userPool, [clientId], notSignedIn);

  return {
    begin: (): SignInAttempt => ({ state: randomBytes(32).toString('base64url'), verifier: randomBytes(32).toString('base64url') }),

    signInAddress: ({ state, verifier }: SignInAttempt, baseUrl: string): string => {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: callback(baseUrl),
        scope: 'openid',
        state,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      });
      return `${domain}/oauth2/authorize?${query}`;
    },

    /** @throws OAuthError if the code is invalid, ApiError SERVICE_UNAVAILABLE if the pool does not answer */
    finish: async (code: string, { verifier }: SignInAttempt, baseUrl: string): Promise<Person> => {
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: clientId,
        redirect_uri: callback(baseUrl),
        code,
        code_verifier: verifier,
      });
      const exchange = async (signal: AbortSignal) => {
        const headers = { connection: 'close' };
        const answer = await fetch(`${domain}/oauth2/token`, { method: 'POST', headers, body, redirect: 'error', signal });
        return { status: answer.status, text: await answer.text() };
      };
      const { status, text } = await bounded(timeoutMs, exchange).catch((error) => {
        throw unavailable('The sign-in service cannot be reached. Try again in a moment.', error);
      });
      if (status >= 500) throw unavailable('The sign-in service is not working. Try again in a moment.');
      if (status !== 200) throw notSignedIn();
      const { sub, username } = await verify(answerSchema.parse(JSON.parse(text)).access_token);
      return { subject: sub, userName: String(username) };
    },
  };
}

export type UserPool = ReturnType<typeof openUserPool>;

export function userPoolFromEnvironment(): UserPool {
  const { userPool, signInDomain, signInClient } = readEnvironment(['userPool', 'signInDomain', 'signInClient']);
  return openUserPool({ userPool, domain: signInDomain, clientId: signInClient });
}
