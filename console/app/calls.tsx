import { useEffect } from 'preact/hooks';
import type { PendingExecution } from '../../client/types.ts';
import { Answer } from './answer.tsx';
import { Button } from './components/controls.tsx';
import { EmptyState } from './components/states.tsx';
import { Badge, ButtonLink, Heading, Shown, Time } from './components/text.tsx';
import { features } from './features.ts';
import { type Call, calls, followCall, forgetCalls } from './made-calls.ts';
import { linkTo } from './route.ts';
import { useStore } from './store.ts';

/** The calls made by this page since the tab was opened. */
export function Calls() {
  const made = useStore(calls);
  useEffect(() => {
    for (const call of calls.get()) if (call.pending) followCall(call).catch(() => {});
  }, []);
  return (
    <>
      <Heading title="Your calls" />
      <p class="lead">The calls that you have made on this page. They stay in this tab until you close it.</p>
      {made.length === 0 ? (
        <EmptyState title="No calls yet">
          <p>
            <ButtonLink to={linkTo([])} title="Find an operation to run" />
          </p>
        </EmptyState>
      ) : (
        <p>
          <Button title="Clear the list" onClick={forgetCalls} />
        </p>
      )}
      <ol class="list">
        {made.map(({ at, intentUid, parameters, durationMs, answer, refusal, isUnanswered, pending, executionId, receipt }) => (
          <li key={at}>
            <h2>
              <a href={linkTo(['intents', intentUid], { parameters: JSON.stringify(parameters) })}>{intentUid}</a>{' '}
              {pending || isUnanswered ? (
                <Badge tone="warn">{pending?.status ?? 'not answered'}</Badge>
              ) : (
                <Badge tone={refusal === undefined ? 'good' : 'bad'}>{refusal === undefined ? 'answered' : 'refused'}</Badge>
              )}
            </h2>
            <p class="quiet">
              <Time at={at} />, {!pending && `${nameDelay(durationMs)}, `}with <Shown text={JSON.stringify(parameters)} />
              <MoreOnCall call={{ executionId, receipt }} before=" · " />
            </p>
            {pending && <Pending state={pending} />}
            {refusal !== undefined && (
              <p>
                <Shown text={refusal} />
              </p>
            )}
            {answer !== undefined && (
              <details>
                <summary>Answer</summary>
                <Answer value={answer} />
              </details>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

export const nameDelay = (ms: number): string => (ms < 10_000 ? `${ms} ms` : `${Math.round(ms / 1_000)} s`);

/** The state of a deferred call. */
export const Pending = ({ state }: { state: PendingExecution }) => (
  <p class="notice">
    {state.status === 'waiting' ? (
      <>
        Waiting for approval until <Time at={state.expires_at} />. The answer will appear here and in{' '}
        <a href={linkTo(['calls'])}>Your calls</a>.
      </>
    ) : (
      'The call is being made. The answer will appear here.'
    )}
  </p>
);

/** Links to what the features have about a call. */
export const MoreOnCall = ({ call, before }: { call: Pick<Call, 'executionId' | 'receipt'>; before: string }) => (
  <>
    {features.map(({ path, ofCall }) => {
      const text = ofCall?.(call);
      return (
        text && (
          <>
            {before}
            <a href={linkTo([path, call.executionId ?? ''])}>{text}</a>
          </>
        )
      );
    })}
  </>
);
