import { Button, Choice, SignIn } from './components/controls.tsx';
import { Failure } from './components/states.tsx';
import { Heading, Shown } from './components/text.tsx';
import { deployment } from './deployment.ts';
import { useWork } from './gate.ts';
import type { Route } from './route.ts';
import { beginSignIn, blocked, endSession, session, signInFailure } from './session.ts';
import { keep, readKept, useStore } from './store.ts';

/** Who is signed in, and a menu. */
export function Account() {
  const current = useStore(session);
  return (
    <>
      {current ? (
        <span>
          <Shown text={current.userName} /> <Button title="Sign out" kind="plain" onClick={endSession} />
        </span>
      ) : (
        <SignIn />
      )}
      <details>
        <summary>Options</summary>
        <Choice label="Theme" none="System theme" options={themes} value={theme()} onChoose={setTheme} />
        <p class="quiet">
          <a href="docs">Documentation</a> · Intent Gate {deployment.version}
        </p>
      </details>
    </>
  );
}

const themes = [
  ['light', 'Light theme'],
  ['dark', 'Dark theme'],
] as const;

const theme = () => readKept('theme', '', 'localStorage');

function setTheme(chosen: string): void {
  document.documentElement.style.colorScheme = chosen;
  keep('theme', chosen, 'localStorage');
}

setTheme(theme());

/** Says why the user is not, or no longer, signed in. */
export function SignInNotice() {
  const text = useStore(signInFailure);
  if (text === undefined) return null;
  return (
    <p class="notice" role="alert">
      {text} <SignIn /> {text === blocked && <Button title="Sign in here" onClick={() => void beginSignIn({ isHere: true })} />}
    </p>
  );
}

/** The admin views, which are loaded once an admin has signed in. */
export function ForAdmins(route: Route) {
  const current = useStore(session);
  const isSignedIn = current !== undefined;
  const { answer, error, reload } = useWork(async () => (isSignedIn ? import('./admin/views.tsx') : undefined), [isSignedIn]);
  if (!isSignedIn) {
    return (
      <>
        <Heading title="For admins">Admins only</Heading>
        <p>
          {deployment.signIn
            ? 'Sign in with the account that an admin of this gate has created for you.'
            : 'Nobody can sign in here: this gate is deployed without the setting adminSignIn. Use the command line: npx intent-gate login.'}
        </p>
        {deployment.signIn && (
          <p>
            <SignIn title="Sign in to continue" kind="main" />
          </p>
        )}
      </>
    );
  }
  if (!answer) return <Failure error={error} retry={reload} />;
  // the key resets the view when another person signs in
  return <answer.AdminView key={current.userName} {...route} />;
}
