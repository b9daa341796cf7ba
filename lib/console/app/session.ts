import { deployment } from './deployment.ts';
import { keep, openStore, readKept } from './store.ts';

/** Who has signed in. */
export interface Session {
  userName: string;
  accessToken: string;
  refreshToken: string | undefined;
}

/** Tokens stay in memory: nobody who comes to the browser later, and no other page of this origin, finds them in a storage. A reload ends the session. */
export const session = openStore<Session | undefined>(undefined);

/** Why nobody is signed in, if somebody has tried. */
export const signInFailure = openStore<string | undefined>(undefined);

export const accessToken = (): string | undefined => session.get()?.accessToken;

/** What is remembered while somebody is at the user pool's page. Without the tokens that come of it, it is worth nothing. */
interface Attempt {
  state: string;
  verifier: string;
  /** where on this page they were */
  place: string;
}

const attemptName = 'sign-in';

const randomText = (): string => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const callback = (): string => `${deployment.publicUrl}/console`;

/** Leads to the user pool's page: authorization code with PKCE (RFC 7636). What was typed is kept, and is there again afterwards. */
export async function beginSignIn(): Promise<void> {
  const { signIn, publicUrl } = deployment;
  if (!signIn) return;
  if (!location.href.startsWith(`${publicUrl}/`)) {
    // the user pool leads back to the public address only, and what this tab keeps is not there
    location.assign(callback() + location.hash);
    return;
  }
  const attempt: Attempt = { state: randomText(), verifier: randomText(), place: location.hash };
  keep(attemptName, attempt);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(attempt.verifier)));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: signIn.clientId,
    redirect_uri: callback(),
    scope: 'openid',
    state: attempt.state,
    code_challenge: toBase64Url(digest),
    code_challenge_method: 'S256',
  });
  location.assign(`${signIn.domain}/oauth2/authorize?${query}`);
}

/** If the user pool has just led back here: exchanges its code for tokens, and goes to where the person was. */
export async function finishSignIn(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const [code, state] = [query.get('code'), query.get('state')];
  if (state === null) return;
  const attempt = readKept<Attempt | undefined>(attemptName, undefined);
  keep(attemptName, undefined);
  history.replaceState(null, '', location.pathname + (attempt?.place ?? ''));
  if (attempt?.state !== state || code === null) {
    signInFailure.set('You are not signed in: the sign-in was not finished, or not begun in this tab. Begin again.');
    return;
  }
  const isSignedIn = await exchange({ grant_type: 'authorization_code', code, code_verifier: attempt.verifier, redirect_uri: callback() });
  if (!isSignedIn) signInFailure.set('You are not signed in: the user pool did not confirm it. Begin again.');
}

/** Gets another token for whoever has signed in; false if they have to sign in again. */
export async function renewSession(): Promise<boolean> {
  const { refreshToken } = session.get() ?? {};
  if (refreshToken !== undefined && (await exchange({ grant_type: 'refresh_token', refresh_token: refreshToken }))) return true;
  if (session.get() !== undefined) signInFailure.set('Your sign-in has ended. What you have typed is kept: sign in again.');
  session.set(undefined);
  return false;
}

export function endSession(): void {
  session.set(undefined);
  signInFailure.set(undefined);
}

async function exchange(grant: Record<string, string>): Promise<boolean> {
  const { signIn } = deployment;
  if (!signIn) return false;
  try {
    const answer = await fetch(`${signIn.domain}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...grant, client_id: signIn.clientId }),
      credentials: 'omit',
    });
    if (!answer.ok) return false;
    const { access_token: token, refresh_token: refreshToken = session.get()?.refreshToken } = await answer.json();
    if (typeof token !== 'string') return false;
    session.set({ userName: readUserName(token), accessToken: token, refreshToken });
    signInFailure.set(undefined);
    return true;
  } catch {
    return false;
  }
}

/** What the token calls its user, to be shown; whether the token is good is for the gate to say. */
function readUserName(token: string): string {
  try {
    const [, claims = ''] = token.split('.');
    const bytes = Uint8Array.from(atob(claims.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
    return String(JSON.parse(new TextDecoder().decode(bytes)).username);
  } catch {
    return 'somebody';
  }
}
