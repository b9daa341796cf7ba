import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { PolicyDeclined, Refusal } from '../../client/errors.ts';
import type { Issue } from '../../schemas/errors.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { loadPatternEngine } from '../in-browser/module.ts';
import type { NewCall, Ran } from './agent.ts';
import { Answer } from './answer.tsx';
import { MoreOnCall, nameDelay, Pending } from './calls.tsx';
import { Button, SubmitForm } from './components/controls.tsx';
import { FoldedFields } from './components/fields.tsx';
import { Failure, Skeleton } from './components/states.tsx';
import { Table } from './components/table.tsx';
import { Part, Time } from './components/text.tsx';
import { fieldsOf, readParameters, type Typed, typeValues } from './field-values.ts';
import { calls, findUnanswered, followCall } from './made-calls.ts';
import { exampleValues } from './nested.ts';
import { useStore } from './store.ts';

interface RunProps {
  intent: FullIntent;
  typed: Typed;
  onTyped(typed: Typed): void;
  isRunnable: boolean;
  /** beside the form */
  children: ComponentChildren;
}

type Outcome =
  | { state: 'idle' | 'declined' }
  | { state: 'running'; at: number }
  | ({ state: 'answered'; durationMs: number; firstAt: number | undefined } & Ran)
  | { state: 'failed'; error: unknown };

/** A form for the intent's parameters, and the result of running it. */
export function Run({ intent, typed, onTyped, isRunnable, children }: RunProps) {
  const inputs: readonly Parameter[] = intent.input_parameters;
  const [issues, setIssues] = useState<Issue[]>([]);
  const [outcome, setOutcome] = useState<Outcome>({ state: 'idle' });
  const result = useRef<HTMLElement>(null);
  const made = useStore(calls);
  const shown = useRef(0);
  useEffect(() => {
    const waiting = calls.get().find((call) => call.pending && call.intentUid === intent.intent_uid);
    if (waiting) void follow(waiting);
  }, []);
  useEffect(() => {
    if (outcome.state === 'answered' || outcome.state === 'failed') result.current?.scrollIntoView({ block: 'nearest' });
  }, [outcome]);

  async function run(): Promise<void> {
    const at = Date.now();
    setOutcome({ state: 'running', at });
    try {
      if (inputs.some(({ pattern }) => pattern !== undefined)) await loadPatternEngine();
    } catch (error) {
      setOutcome({ state: 'failed', error });
      return;
    }
    const read = readParameters(inputs, typed);
    setIssues(read.issues);
    if (read.issues.length > 0) {
      setOutcome({ state: 'idle' });
      return;
    }
    const { intent_uid: intentUid } = intent;
    const earlier = findUnanswered(intentUid, read.values);
    await follow({ at, intentUid, parameters: read.values, key: earlier?.key ?? crypto.randomUUID() }, earlier?.at);
  }

  /** @param firstAt - when an equal call was made that has not been answered, if this one gets its answer */
  async function follow(call: NewCall, firstAt?: number): Promise<void> {
    const { at } = call;
    shown.current = at;
    setOutcome({ state: 'running', at });
    // another call may have been made while this one waited
    const show = (next: Outcome, places: Issue[] = []) => {
      if (shown.current !== at) return;
      setIssues(places);
      setOutcome(next);
    };
    try {
      show({ state: 'answered', ...(await followCall(call)), durationMs: Date.now() - at, firstAt });
    } catch (error) {
      if (error instanceof PolicyDeclined) show({ state: 'declined' });
      else show({ state: 'failed', error }, error instanceof Refusal && error.code === 'INVALID_PARAMETER' ? error.issues : []);
    }
  }

  const pending = outcome.state === 'running' ? made.find(({ at }) => at === outcome.at)?.pending : undefined;
  const isRunning = outcome.state === 'running' && pending?.status !== 'waiting';
  return (
    <div class="run">
      <Part title="Parameters">
        <SubmitForm
          title="Run"
          busyTitle="Running …"
          isBusy={isRunning}
          isDisabled={!isRunnable}
          issues={issues}
          onSubmit={() => void run()}
          note={
            isRunnable ? (
              inputs.length > 0 && (
                <Button
                  title="Fill in an example"
                  onClick={() => onTyped({ ...typeValues(inputs, exampleValues(inputs)), ...withoutEmpty(typed) })}
                />
              )
            ) : (
              <span class="quiet">Agents cannot run it: the policy does not permit it, or it is deprecated or a draft.</span>
            )
          }
        >
          {inputs.length === 0 && <p>This operation takes no parameters.</p>}
          <FoldedFields fields={fieldsOf(inputs)} typed={typed} issues={issues} onTyped={onTyped} />
        </SubmitForm>
      </Part>
      <section ref={result} class="outcome" aria-label="Result">
        <div aria-live="polite">
          {issues.length > 0 && <p class="problem">Correct the marked fields above, then run it again.</p>}
          {pending && <Pending state={pending} />}
          {isRunning && <Skeleton rows={3} label="Running" />}
          {outcome.state === 'declined' && <p>You have not accepted the policy, so nothing was signed and nothing was run.</p>}
          {outcome.state === 'answered' && <Answered {...outcome} />}
        </div>
        {outcome.state === 'failed' && <Failure error={outcome.error} />}
      </section>
      <aside>{children}</aside>
    </div>
  );
}

const withoutEmpty = (typed: Typed): Typed => Object.fromEntries(Object.entries(typed).filter(([, text]) => text !== ''));

const Answered = ({ answer, facts, upstream, receipt, durationMs, firstAt }: Extract<Outcome, { state: 'answered' }>) => (
  <>
    <h2>Answer</h2>
    {firstAt !== undefined && (
      <p class="notice">
        This answers your call of <Time at={firstAt} /> if that was made; it was not made again.
      </p>
    )}
    <p class="quiet">
      Answered in {nameDelay(durationMs)}. {facts.left !== undefined && `${facts.left} calls are left. `}
      {facts.executionId && (
        <>
          Execution <code>{facts.executionId}</code>
        </>
      )}{' '}
      <MoreOnCall call={{ executionId: facts.executionId, receipt }} before="" />
    </p>
    <Answer value={answer} />
    {upstream && (
      <Table label="Status and header fields of the service" rows={[['Status', String(upstream.status)], ...upstream.headers]} />
    )}
  </>
);
