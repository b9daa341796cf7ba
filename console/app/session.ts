import { toBase64Url } from '../../client/bytes.ts';
import { sha256 } from '../../client/jws.ts';
import { deployment } from './deployment.ts';
import { keep, openStore, readKept } from './store.ts';

/** Who has signed in. */
export interface Session {
  userName: string;
  /** none once the sign-in has ended: what is on the page stays there, for when the same person signs in again */
  tokens: { access: string; refresh: string | undefined } | undefined;
}

/** Tokens stay in memory, where neither the next user of the browser nor other pages of this origin find them. A reload ends the session. */
export const session = openStore<Session | undefined>(undefined);

/** Why nobody is signed in, if somebody has tried. */
export const signInFailure = openStore<string | undefined>(undefined);

export const accessToken = (): string | undefined => session.get()?.tokens?.access;

/** What is remembered while somebody is at the user pool's page. Without the code that comes of it, it is worth nothing. */
interface SignInAttempt {
  state: string;
  verifier: string;
  /** where on this page they were */
  place: string;
}

/** of what the tab keeps about an attempt, and of the channel on which a window hands over the code to the one that has opened it */
const attemptName = 'sign-in';

/** What the user pool has answered to an attempt. */
interface Outcome {
  state: string;
  code: string | null;
}

const randomText = (): string => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));

const callback = (): string => `${deployment.publicUrl}/console`;

/**
 * Leads to the user pool's page: authorization code with PKCE (RFC 7636). If a sign-in has ended, that page gets a window of its own, so that
 * all that is on this one stays there.
 * @param isHere - without another window: of what is on this page, only what the tab keeps is there again afterwards
 */
export async function beginSignIn({ isHere = session.get() === undefined } = {}): Promise<void> {
  const { signIn, publicUrl } = deployment;
  if (!signIn) return;
  if (!location.href.startsWith(`${publicUrl}/`)) {
    // the user pool leads back to the public address only, and what this tab keeps is not there
    location.assign(callback() + location.hash);
    return;
  }
  const attempt: SignInAttempt = { state: randomText(), verifier: randomText(), place: location.hash };
  // opened before anything is waited for: browsers allow it only in answer to a click
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

/** Said if the browser opens no window. */
export const blocked =
  'The browser has not opened the window for signing in. Allow windows for this page, then sign in again. You can also sign in here: what you have typed is kept, but not a document that you have chosen, nor the values of a credential.';

let outcomes: BroadcastChannel | undefined;

/** The window that has been opened ends up on this page, too, and hands over what the user pool has answered. */
function awaitOutcome(attempt: SignInAttempt, other: Window): void {
  // the user pool's page gets no hold of this one
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

/** If the user pool has just led back here: exchanges its code for tokens, and goes to where the person was. */
export async function finishSignIn(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const [code, state] = [query.get('code'), query.get('state')];
  if (state === null) return;
  const attempt = readKept<SignInAttempt | undefined>(attemptName, undefined);
  const isOwn = attempt?.state === state;
  history.replaceState(null, '', location.pathname + (isOwn ? attempt.place : ''));
  if (!isOwn) {
    // only a window that has begun with this state has the verifier, without which the code is worth nothing
    const channel = new BroadcastChannel(attemptName);
    channel.postMessage({ state, code } satisfies Outcome);
    channel.close();
    signInFailure.set(
      'You are not signed in here: the sign-in was not begun in this tab. Go on in the window that you came from, or begin again.',
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
    signInFailure.set('You are not signed in: the sign-in was not finished, or the user pool did not confirm it. Begin again.');
}

let renewal: Promise<boolean> | undefined;

/** Gets another token for whoever has signed in; false if that cannot be done now, or if they have to sign in again. */
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
    // the user pool does not answer: the refresh token may still be good
    return false;
  }
  if (session.get() !== before) return false;
  signInFailure.set('Your sign-in has ended. Nothing is lost: sign in again, in a window of its own, and go on.');
  session.set({ userName: before.userName, tokens: undefined });
  return false;
}

/** Waits until somebody has signed in again whose sign-in has ended, or has signed out. */
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

/** Whether the token has ended already. Some reads are answered all the same then, with less. */
export const hasTokenEnded = (): boolean => Number(readClaims(accessToken() ?? '').exp ?? 0) * 1_000 <= Date.now();

/** Forgets what belongs to one person as soon as somebody else is signed in, or nobody. */
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
  session.set({ userName: readClaims(access).username ?? 'somebody', tokens: { access, refresh } });
  signInFailure.set(undefined);
  return true;
}

/** What the token says, to be shown; whether it is good is for the gate to say. */
function readClaims(token: string): { username?: string; exp?: number } {
  try {
    const [, claims = ''] = token.split('.');
    const bytes = Uint8Array.from(atob(claims.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
}
