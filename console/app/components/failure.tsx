import { describeUpstream, Refusal } from '../../../client/errors.ts';
import { describeFailure, SignInEnded } from '../gate.ts';
import { linkTo } from '../route.ts';
import { SignIn } from '../sign-in.tsx';
import { Button } from './button.tsx';
import { Items, Shown } from './text.tsx';

/** What went wrong, and how to try again. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  if (error === undefined) return null;
  const refusal = error instanceof Refusal ? error : undefined;
  // what is not there is not there the second time
  const isMissing = refusal?.status === 404;
  return (
    <div class="failure" role="alert">
      <p>
        <Shown text={describeFailure(error)} />
      </p>
      {refusal && <Reason details={refusal.details} />}
      {refusal && (
        <p class="quiet">
          <a href={linkTo(['reference', refusal.code])}>What {refusal.code} means</a>
          {refusal.requestId && (
            <>
              {' '}
              · Request <code>{refusal.requestId}</code>
            </>
          )}
        </p>
      )}
      {error instanceof SignInEnded && <SignIn />}
      {retry && !isMissing && <Button title="Try again" onClick={retry} />}
    </div>
  );
}

/** What the service behind the intent has said, in its own words. */
const Reason = ({ details }: { details: Record<string, unknown> }) => {
  const reason = describeUpstream(details);
  return reason === undefined ? null : (
    <figure>
      <figcaption>The service says:</figcaption>
      <blockquote>
        <Shown text={reason} />
      </blockquote>
    </figure>
  );
};

/** What the gate says of something that it has saved all the same. */
export const Warnings = ({ texts = [] }: { texts?: readonly string[] | undefined }) =>
  texts.length === 0 ? null : (
    <div class="notice" role="status">
      <Items title="It is saved, but:" texts={texts} />
    </div>
  );
