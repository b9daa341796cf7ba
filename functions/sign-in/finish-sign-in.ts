import * as z from 'zod';
import { type Action, serve } from '../core/http/serve.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { OAuthError } from './oauth-error.ts';
import { showErrors } from './pages.ts';
import { findSession, writeCookie } from './session.ts';
import { forgetAttempt, readAttempt } from './sign-in-attempt.ts';
import { openSignIns, type SignIns } from './sign-ins.ts';
import { type UserPool, userPoolFromEnvironment } from './user-pool.ts';

export interface Deps {
  signIns: Pick<SignIns, 'findSession' | 'startSession'>;
  userPool: Pick<UserPool, 'finish'>;
  signInSeconds: number;
}

const callbackQuery = z.object({ code: z.string().max(2_048).optional(), state: z.string().max(100).optional() });

/**
 * `GET /oauth/signed-in`: where the user pool redirects people. A sign-in that began in another browser, or that was forged, is rejected.
 * A session that the same person began in another tab in the meantime is kept, unextended, because forms of its pages count only with it.
 */
export const createAction = ({ signIns, userPool, signInSeconds }: Deps): Action =>
  showErrors(async (request) => {
    const { baseUrl } = request;
    const { code, state } = request.query(callbackQuery);
    const { attempt, path } = readAttempt(request, state);
    if (code === undefined) throw new OAuthError('access_denied', 'The sign-in service did not sign you in.');
    const person = await userPool.finish(code, attempt, baseUrl);
    const nowMs = Date.now();
    const isSignedIn = (await findSession(request, signIns, nowMs))?.person.subject === person.subject;
    const session = isSignedIn ? [] : [writeCookie(request, await signIns.startSession(person, nowMs, signInSeconds), signInSeconds)];
    return { status: 302, headers: { Location: baseUrl + path }, cookies: [...session, ...forgetAttempt(request, state)] };
  });

export const handler = serve(
  createAction({
    signIns: openSignIns(tableFromEnvironment()),
    userPool: userPoolFromEnvironment(),
    signInSeconds: Number(readEnvironment(['signInSeconds']).signInSeconds),
  }),
);
