import type { Person, SignIns } from '../activity/sign-ins.ts';
import type { ApiRequest } from '../http/request.ts';
import { readCookie } from './cookie.ts';

export interface Session {
  /** known to the person's browser alone */
  secret: string;
  person: Person;
}

/** The session of whoever sent the request, if they have signed in. */
export async function findSession(request: ApiRequest, signIns: Pick<SignIns, 'findSession'>, nowMs: number): Promise<Session | undefined> {
  const secret = readCookie(request);
  if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return undefined;
  const person = await signIns.findSession(secret, nowMs);
  return person && { secret, person };
}
