import type { ReceiptFile } from '../../client/receipts.ts';
import { Answer } from './answer.tsx';
import { Button } from './components/controls.tsx';
import { EmptyState } from './components/states.tsx';
import { Badge, Heading, Shown, Time } from './components/text.tsx';
import { linkTo } from './route.ts';
import { keep, openStore, readKept, useStore } from './store.ts';

export interface Call {
  at: number;
  intentUid: string;
  parameters: Record<string, unknown>;
  durationMs: number;
  /** absent if the call was refused, or the answer is too large to keep */
  answer?: unknown;
  refusal?: string;
  executionId?: string | undefined;
  receipt?: ReceiptFile | undefined;
}

const maxKept = 50;
/** Maximum length of kept answers, in characters of JSON. */
const maxAnswerLength = 20_000;

export const calls = openStore<Call[]>(readKept('calls', []));

export function rememberCall(call: Call): void {
  const { answer, receipt, ...rest } = call;
  const isKept = answer !== undefined && JSON.stringify(answer).length <= maxAnswerLength;
  // keep the receipt, most of which can be verified without the answer
  const kept = isKept ? call : { ...rest, receipt: receipt && { ...receipt, answer: undefined } };
  calls.set([kept, ...calls.get()].slice(0, maxKept));
  keep('calls', calls.get());
}

function forgetCalls(): void {
  calls.set([]);
  keep('calls', undefined);
}

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
              {receipt && (
                <>
                  {' '}
                  · <a href={linkTo(['receipts', executionId ?? ''])}>Receipt</a>
                </>
              )}
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
