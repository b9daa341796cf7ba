import { type Api, openApi } from '../../../registry/api.ts';
import { gateUrl, SignInEnded } from '../gate.ts';
import { accessToken, awaitSession, hasTokenEnded, renewSession, session } from '../session.ts';

/** The gate's API as the command line uses it, with the token of the admin who has signed in. */
export const openAdminApi = (): Api => openApi(gateUrl, openTokens());

/** If the sign-in has ended, the work waits until the same person has signed in again, and goes on where it has stopped. */
function openTokens() {
  const owner = session.get()?.userName;
  return {
    async get(renew = false): Promise<string> {
      if ((renew || hasTokenEnded()) && !(await renewSession()) && accessToken() === undefined) await awaitSession();
      const { userName, tokens } = session.get() ?? {};
      if (tokens === undefined || userName !== owner) throw new SignInEnded();
      return tokens.access;
    },
  };
}
