import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Upstream } from '../../client/connect.ts';
import { PolicyDeclined, Refusal } from '../../client/errors.ts';
import type { ReceiptFile } from '../../client/receipts.ts';
import type { PendingExecution } from '../../client/types.ts';
import type { Issue } from '../../schemas/errors.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { loadPatternEngine } from '../in-browser/module.ts';
import { type ExecutionFacts, runIntent } from './agent.ts';
import { Answer } from './answer.tsx';
import { MoreOnCall } from './calls.tsx';
import { Button, SubmitForm } from './components/controls.tsx';
import { FoldedFields } from './components/fields.tsx';
import { Failure, Skeleton, saidIn } from './components/states.tsx';
import { Table } from './components/table.tsx';
import { Part, Time } from './components/text.tsx';
import { fieldsOf, readParameters, type Typed, typeValues } from './field-values.ts';
import { describeFailure } from './gate.ts';
import { rememberCall } from './made-calls.ts';
import { exampleValues } from './nested.ts';

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
  | { state: 'running'; pending?: PendingExecution }
  | {
      state: 'answered';
      answer: Record<string, unknown>;
      facts: ExecutionFacts;
      upstream: Upstream | undefined;
      receipt: ReceiptFile | undefined;
      durationMs: number;
    }
  | { state: 'failed'; error: unknown };

/** A form for the intent's parameters, and the result of running it. */
export function Run({ intent, typed, onTyped, isRunnable, children }: RunProps) {
  const inputs: readonly Parameter[] = intent.input_parameters;
  const [issues, setIssues] = useState<Issue[]>([]);
  const [outcome, setOutcome] = useState<Outcome>({ state: 'idle' });
  const result = useRef<HTMLElement>(null);
  useEffect(() => {
    if (outcome.state === 'answered' || outcome.state === 'failed') result.current?.scrollIntoView({ block: 'nearest' });
  }, [outcome]);

  async function run(): Promise<void> {
    if (inputs.some(({ pattern }) => pattern !== undefined)) await loadPatternEngine();
    const read = readParameters(inputs, typed);
    setIssues(read.issues);
    if (read.issues.length > 0) {
      setOutcome({ state: 'idle' });
      return;
    }
    setOutcome({ state: 'running' });
    const startedMs = performance.now();
    const call = { at: Date.now(), intentUid: intent.intent_uid, parameters: read.values };
    const passed = () => Math.round(performance.now() - startedMs);
    try {
      const onPending = (pending: PendingExecution) => setOutcome({ state: 'running', pending });
      const { answer, facts, upstream, receipt } = await runIntent(intent.intent_uid, read.values, onPending);
      rememberCall({ ...call, durationMs: passed(), answer, executionId: facts.executionId, receipt });
      setOutcome({ state: 'answered', answer, facts, upstream, receipt, durationMs: passed() });
    } catch (error) {
      if (error instanceof PolicyDeclined) {
        setOutcome({ state: 'declined' });
        return;
      }
      const said = error instanceof Refusal ? saidIn(error.details) : undefined;
      rememberCall({
        ...call,
        durationMs: passed(),
        refusal: describeFailure(error) + (said === undefined ? '' : ` The service says: ${said}`),
      });
      setIssues(error instanceof Refusal && error.code === 'INVALID_PARAMETER' ? error.issues : []);
      setOutcome({ state: 'failed', error });
    }
  }

  const isRunning = outcome.state === 'running';
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
          {isRunning && outcome.pending && <Pending state={outcome.pending} />}
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

const Pending = ({ state }: { state: PendingExecution }) => (
  <p class="notice">
    {state.status === 'waiting' ? (
      <>
        A person has to approve this call by <Time at={state.expires_at} />. Keep this page open: the answer will appear here.
      </>
    ) : (
      'The call is being made. The answer will appear here.'
    )}
  </p>
);

const withoutEmpty = (typed: Typed): Typed => Object.fromEntries(Object.entries(typed).filter(([, text]) => text !== ''));

const Answered = ({ answer, facts, upstream, receipt, durationMs }: Extract<Outcome, { state: 'answered' }>) => (
  <>
    <h2>Answer</h2>
    <p class="quiet">
      Answered in {durationMs} ms. {facts.left !== undefined && `${facts.left} calls are left. `}
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
