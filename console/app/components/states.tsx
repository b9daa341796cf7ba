import type { ComponentChildren } from 'preact';
import { describeUpstream, Refusal } from '../../../client/errors.ts';
import { isObject } from '../../../functions/core/json/json.ts';
import { describeFailure, SignInEnded } from '../gate.ts';
import { linkTo } from '../route.ts';
import { session } from '../session.ts';
import { useStore } from '../store.ts';
import { Button, SignIn } from './controls.tsx';
import { Code, Shown, Way } from './text.tsx';

/** An error message, with a way to retry. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  const isSignedIn = useStore(session)?.tokens !== undefined;
  if (error === undefined) return null;
  const refusal = error instanceof Refusal ? error : undefined;
  // retrying does not help if something is not found
  const isMissing = refusal?.status === 404;
  return (
    <div class="failure" role="alert">
      <p>
        <Shown text={describeFailure(error)} />
      </p>
      {refusal && <Reason details={refusal.details} />}
      {refusal && <NextStep refusal={refusal} />}
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
      {error instanceof SignInEnded && !isSignedIn && <SignIn />}
      {retry && !isMissing && <Button title="Try again" onClick={retry} />}
    </div>
  );
}

export interface AwaitedProps {
  reading: { answer?: unknown; error?: unknown; reload?: () => void };
  /** number of placeholder rows while loading */
  rows?: number;
}

/** Shown instead of data that is not loaded: placeholder rows, or the error. */
export const Awaited = ({ reading: { answer, error, reload }, rows = 8 }: AwaitedProps) => (
  <>
    <Failure error={error} retry={reload} />
    {answer === undefined && error === undefined && <Skeleton rows={rows} />}
  </>
);

/** The response of the service behind the intent. */
const Reason = ({ details }: { details: Record<string, unknown> }) => {
  const whole = describeUpstream(details);
  const sentence = sentenceIn(details.upstream_body);
  return whole === undefined ? null : (
    <figure>
      <figcaption>The service says:</figcaption>
      <blockquote>
        <Shown text={sentence ?? whole} />
      </blockquote>
      {sentence !== undefined && (
        <details>
          <summary>Full response</summary>
          <Code text={whole} />
        </details>
      )}
    </figure>
  );
};

/** The reason in the service's response, else the response itself. */
export const saidIn = (details: Record<string, unknown>): string | undefined =>
  sentenceIn(details.upstream_body) ?? describeUpstream(details);

/** Members that contain the reason (RFC 9457 and common practice). */
const reasonNames = ['detail', 'message', 'error_description', 'error', 'reason', 'title'];

/** Maximum length of a displayed reason, in characters. */
const maxReason = 1_000;

function sentenceIn(said: unknown): string | undefined {
  if (typeof said === 'string') return undefined;
  if (Array.isArray(said)) return said.map(sentenceIn).find((text) => text !== undefined);
  if (!isObject(said)) return undefined;
  const given = [...reasonNames, 'errors'].map((name) => said[name]);
  const text =
    given.find((value) => typeof value === 'string' && value !== '') ?? given.map(sentenceIn).find((inner) => inner !== undefined);
  return typeof text === 'string' ? text.slice(0, maxReason) : undefined;
}

/** The next step, where the message does not give one. */
function NextStep({ refusal: { code, status, details } }: { refusal: Refusal }) {
  if (code === 'FORBIDDEN' && !['not_admin', 'namespace'].includes(String(details.reason)))
    return <Way to={linkTo([], { permitted: 'true' })} title="Find an operation that you may run" />;
  if (code !== 'INTENT_EXECUTION_FAILED') return null;
  if (status === 422 || (details.upstream_status === 403 && details.upstream_body !== undefined))
    return <p>Correct the parameters, then run it again.</p>;
  return details.outcome === 'not_sent' ? null : (
    <p>The parameters are not the cause. The service may have acted anyway: check there before you run it again.</p>
  );
}

/** Placeholder rows, so that nothing moves when the data arrives. */
export const Skeleton = ({ rows = 6, label = 'Loading' }: { rows?: number; label?: string }) => (
  <div class="skeleton" role="status" aria-label={label}>
    {Array.from({ length: rows }, (_, at) => (
      <i key={at} />
    ))}
  </div>
);

/** Shown instead of an empty list: the reason, and what to do next. */
export const EmptyState = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);
