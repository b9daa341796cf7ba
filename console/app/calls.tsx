import { Answer } from './answer.tsx';
import { Button } from './components/controls.tsx';
import { EmptyState } from './components/states.tsx';
import { Badge, Heading, Shown, Time } from './components/text.tsx';
import { features } from './features.ts';
import { type Call, calls, forgetCalls } from './made-calls.ts';
import { linkTo } from './route.ts';
import { useStore } from './store.ts';

/** The calls made by this page since the tab was opened. */
export function Calls() {
  const made = useStore(calls);
  return (
    <>
      <Heading title="Your calls" />
      <p class="lead">The calls that you have made on this page. They stay in this tab until you close it.</p>
      {made.length === 0 ? (
        <EmptyState title="No calls yet">
          <p>
            <a class="button" href={linkTo([])}>
              Find an operation to run
            </a>
          </p>
        </EmptyState>
      ) : (
        <p>
          <Button title="Clear the list" onClick={forgetCalls} />
        </p>
      )}
      <ol class="list">
        {made.map(({ at, intentUid, parameters, durationMs, answer, refusal, executionId, receipt }) => (
          <li key={at}>
            <h2>
              <a href={linkTo(['intents', intentUid], { parameters: JSON.stringify(parameters) })}>{intentUid}</a>{' '}
              <Badge tone={refusal === undefined ? 'good' : 'bad'}>{refusal === undefined ? 'answered' : 'refused'}</Badge>
            </h2>
            <p class="quiet">
              <Time at={at} />, {durationMs} ms, with <Shown text={JSON.stringify(parameters)} />
              <MoreOnCall call={{ executionId, receipt }} before=" · " />
            </p>
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
