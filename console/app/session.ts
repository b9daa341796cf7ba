import { toBase64Url } from '../../client/bytes.ts';
import { sha256 } from '../../client/jws.ts';
import { deployment } from './deployment.ts';
import { keep, openStore, readKept } from './store.ts';

/** The signed-in person. */
export interface Session {
  userName: string;
  /** whether the person is in a group of admins; the gate decides by itself */
  isAdmin: boolean;
  /** undefined once the session has ended; the page keeps its content in case the same person signs in again */
  tokens: { access: string; refresh: string | undefined } | undefined;
}

/** Tokens stay in memory, out of reach of the browser's next user and other pages of this origin. A reload ends the session. */
export const session = openStore<Session | undefined>(undefined);

/** Why signing in failed, if it was tried. */
export const signInFailure = openStore<string | undefined>(undefined);

export const accessToken = (): string | undefined => session.get()?.tokens?.access;

/** State kept while the person is on the user pool's page. It is useless without the resulting code. */
interface SignInAttempt {
  state: string;
  verifier: string;
  /** fragment of this page to return to */
  place: string;
}

/** name of the kept attempt, and of the channel on which a sign-in window passes the code to its opener */
const attemptName = 'sign-in';

/** The user pool's response to an attempt. */
interface Outcome {
  state: string;
  code: string | null;
}

const randomText = (): string => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));

const callback = (): string => `${deployment.publicUrl}/console`;

/**
 * Opens the user pool's page: authorization code with PKCE (RFC 7636). After a session has ended, it opens in a separate window, so that this
 * page keeps its content.
 * @param isHere - whether to use this window; afterwards, only content that the tab stores is left
 */
export async function beginSignIn({ isHere = session.get() === undefined } = {}): Promise<void> {
  const { signIn, publicUrl } = deployment;
  if (!signIn) return;
  if (!location.href.startsWith(`${publicUrl}/`)) {
    // the user pool redirects only to the public address, which cannot access this origin's storage
    location.assign(callback() + location.hash);
    return;
  }
  const attempt: SignInAttempt = { state: randomText(), verifier: randomText(), place: location.hash };
  // opened before any await, because browsers allow it only in response to a click
  const other = isHere ? null : open('', '_blank', 'popup,width=520,height=720');
  if (!isHere && other === null) {
    signInFailure.set(blocked);
    return;
  }
  if (other) awaitOutcome(attempt, other);
  else keep(attemptName, attempt);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: signIn.clientId,
    redirect_uri: callback(),
    scope: 'openid',
    state: attempt.state,
    code_challenge: await sha256(attempt.verifier),
    code_challenge_method: 'S256',
  });
  (other ?? window).location.assign(`${signIn.domain}/oauth2/authorize?${query}`);
}

/** Message if the browser blocks the window. */
export const blocked =
  'The browser has blocked the sign-in window. Allow pop-up windows for this page, then sign in again. You can also sign in here: what you have typed is kept, except for a document that you have chosen and the values of a credential.';

let outcomes: BroadcastChannel | undefined;

/** Waits for the response of the user pool, which the opened window passes on when it returns to this page. */
function awaitOutcome(attempt: SignInAttempt, other: Window): void {
  // keeps the user pool's page from accessing this one
  other.opener = null;
  outcomes?.close();
  const channel = new BroadcastChannel(attemptName);
  outcomes = channel;
  channel.onmessage = ({ data }: MessageEvent<Outcome>) => {
    if (data.state !== attempt.state) return;
    channel.close();
    other.close();
    void redeem(attempt, data.code);
  };
}

/** After a redirect from the user pool: exchanges the code for tokens, and returns to where the person was. */
export async function finishSignIn(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const [code, state] = [query.get('code'), query.get('state')];
  if (state === null) return;
  const attempt = readKept<SignInAttempt | undefined>(attemptName, undefined);
  const isOwn = attempt?.state === state;
  history.replaceState(null, '', location.pathname + (isOwn ? attempt.place : ''));
  if (!isOwn) {
    // only the window that began with this state has the verifier, without which the code is useless
    const channel = new BroadcastChannel(attemptName);
    channel.postMessage({ state, code } satisfies Outcome);
    channel.close();
    signInFailure.set(
      'You are not signed in here: the sign-in was not started in this tab. Continue in the window that you came from, or start again.',
    );
    return;
  }
  keep(attemptName, undefined);
  await redeem(attempt, code);
}

async function redeem({ verifier }: SignInAttempt, code: string | null): Promise<void> {
  const grant = { grant_type: 'authorization_code', code: code ?? '', code_verifier: verifier, redirect_uri: callback() };
  const isSignedIn = code !== null && (await exchange(grant).catch(() => false));
  if (!isSignedIn)
    signInFailure.set('You are not signed in: the sign-in was not completed, or the user pool did not confirm it. Start again.');
}

let renewal: Promise<boolean> | undefined;

/** Renews the access token. @returns false if that is not possible now, or the person must sign in again */
export function renewSession(): Promise<boolean> {
  renewal ??= renew().finally(() => {
    renewal = undefined;
  });
  return renewal;
}

async function renew(): Promise<boolean> {
  const before = session.get();
  if (before === undefined) return false;
  try {
    const { refresh } = before.tokens ?? {};
    if (refresh !== undefined && (await exchange({ grant_type: 'refresh_token', refresh_token: refresh }))) return true;
  } catch {
    // the user pool does not answer, so the refresh token may still be valid
    return false;
  }
  if (session.get() !== before) return false;
  signInFailure.set('Your session has ended. Nothing is lost: sign in again, in a separate window, and continue.');
  session.set({ ...before, tokens: undefined });
  return false;
}

/** If the session has ended, waits until the person signs in again or signs out. */
export function awaitSession(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      const now = session.get();
      if (now !== undefined && now.tokens === undefined) return;
      stop();
      resolve();
    };
    const stop = session.subscribe(look);
    look();
  });
}

/** Whether the token has expired. Some reads succeed anyway, but return less. */
export const hasTokenEnded = (): boolean => Number(readClaims(accessToken() ?? '').exp ?? 0) * 1_000 <= Date.now();

/** Calls `forget` as soon as another person is signed in, or nobody. */
export function onOtherUser(forget: () => void): void {
  let owner = session.get()?.userName;
  session.subscribe(() => {
    const { userName } = session.get() ?? {};
    if (userName === owner) return;
    owner = userName;
    forget();
  });
}

export function endSession(): void {
  session.set(undefined);
  signInFailure.set(undefined);
}

/** @throws if the user pool does not answer */
async function exchange(grant: Record<string, string>): Promise<boolean> {
  const { signIn } = deployment;
  if (!signIn) return false;
  const answer = await fetch(`${signIn.domain}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...grant, client_id: signIn.clientId }),
    credentials: 'omit',
  });
  if (answer.status >= 500) throw new Error(`the user pool answers ${answer.status}`);
  if (!answer.ok) return false;
  const { access_token: access, refresh_token: refresh = grant.refresh_token } = await answer.json();
  if (typeof access !== 'string') return false;
  const { username: userName = 'somebody', 'cognito:groups': groups = [] } = readClaims(access);
  session.set({ userName, isAdmin: groups.some((name) => /^admins(:|$)/.test(name)), tokens: { access, refresh } });
  signInFailure.set(undefined);
  return true;
}

/** Unverified claims of the token, for display; the gate verifies it. */
function readClaims(token: string): { username?: string; exp?: number; 'cognito:groups'?: string[] } {
  try {
    const [, claims = ''] = token.split('.');
    const bytes = Uint8Array.from(atob(claims.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
}
