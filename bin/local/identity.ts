import { join } from 'node:path';
import { startJsonService } from './json-service.ts';
import { startSignIn } from './sign-in-page.ts';
import { openUserPool, userPoolOperations } from './user-pool.ts';

export type Person = 'admin' | 'user';

export type RunningIdentity = Awaited<ReturnType<typeof startIdentity>>;

/**
 * A stand-in for Cognito that resembles a real user pool, with a real issuer name and its own signing key. It has an admin, an ordinary user, a client
 * for passwords, and two clients for the sign-in page at `/oauth2/authorize`.
 * @param callbackUrls - redirect URIs of the gate
 * @param consoleUrls - redirect URIs of the console
 */
export async function startIdentity(folder: string, callbackUrls: readonly string[], consoleUrls: readonly string[]) {
  const pool = openUserPool(join(folder, 'identity.json'));
  const signInClientId = `${pool.clientId.slice(0, 20)}signin`;
  const consoleClientId = `${pool.clientId.slice(0, 19)}console`;
  const [page, service] = await Promise.all([
    startSignIn(pool, { [signInClientId]: callbackUrls, [consoleClientId]: consoleUrls }),
    startJsonService(userPoolOperations(pool)),
  ]);
  return {
    endpoint: service.endpoint,
    signInUrl: page.url,
    userPoolId: pool.id,
    clientId: pool.clientId,
    signInClientId,
    consoleClientId,
    adminPassword: pool.passwordOf('admin'),
    userPassword: pool.passwordOf('user'),
    issuer: pool.issuer,
    /** the pool's public keys as a data URL, which needs no server */
    jwksUrl: `data:application/json;base64,${Buffer.from(JSON.stringify(pool.keySet)).toString('base64')}`,
    /** Issues a token; `admin` is in the group `admins`, `user` in none. */
    signIn: (person: Person) => ({ accessToken: pool.issue(person, pool.clientId).access_token }),
    stop: async () => {
      await Promise.all([page.stop(), service.stop()]);
    },
  };
}
