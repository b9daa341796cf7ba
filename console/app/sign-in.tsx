import { deployment } from './deployment.ts';
import { beginSignIn } from './session.ts';

/** A button that opens the user pool's page, if admins can sign in here. */
export const SignIn = ({ title = 'Sign in', kind = '' }: { title?: string; kind?: string }) =>
  deployment.signIn ? (
    <button type="button" class={kind} onClick={() => void beginSignIn()}>
      {title}
    </button>
  ) : null;
