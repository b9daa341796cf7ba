import { type Api, openApi } from '../../../registry/api.ts';
import { gateUrl, readToken, SignInEnded } from '../gate.ts';
import { awaitSession, session } from '../session.ts';

/** The API client of the command line. If the session ends, it waits until the same person has signed in again, and then continues. */
export function openAdminApi(): Api {
  const owner = session.get()?.userName;
  return openApi(gateUrl, {
    async get(renew) {
      const token = await readToken(renew).catch(() => awaitSession().then(() => readToken()));
      if (session.get()?.userName !== owner) throw new SignInEnded();
      return token;
    },
  });
}
