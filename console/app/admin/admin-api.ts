import { type Api, openApi } from '../../../registry/api.ts';
import { gateUrl, SignInEnded } from '../gate.ts';
import { accessToken, awaitSession, hasTokenEnded, renewSession, session } from '../session.ts';

/** The API client of the command line, with the token of the signed-in admin. */
export const openAdminApi = (): Api => openApi(gateUrl, openTokens());

/** After the session has ended, waits until the same person has signed in again, and then continues. */
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
