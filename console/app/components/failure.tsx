import { Refusal } from '../../../client/errors.ts';
import { describeFailure, SignInEnded } from '../gate.ts';
import { SignIn } from '../sign-in.tsx';
import { Button } from './button.tsx';
import { Items, Shown } from './text.tsx';

/** What went wrong, and how to try again. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  if (error === undefined) return null;
  const requestId = error instanceof Refusal ? error.requestId : undefined;
  // what is not there is not there the second time
  const isMissing = error instanceof Refusal && error.status === 404;
  return (
    <div class="failure" role="alert">
      <p>
        <Shown text={describeFailure(error)} />
      </p>
      {requestId && (
        <p class="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
      {error instanceof SignInEnded && <SignIn />}
      {retry && !isMissing && <Button title="Try again" onClick={retry} />}
    </div>
  );
}

/** What the gate says of something that it has saved all the same. */
export const Warnings = ({ texts = [] }: { texts?: readonly string[] | undefined }) =>
  texts.length === 0 ? null : (
    <div class="notice" role="status">
      <Items title="It is saved, but:" texts={texts} />
    </div>
  );
