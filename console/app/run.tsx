import { useState } from 'preact/hooks';
import { PolicyDeclined, Refusal } from '../../client/errors.ts';
import type { Issue } from '../../schemas/errors.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { loadPatternEngine } from '../in-browser/module.ts';
import { type ExecutionFacts, runIntent } from './agent.ts';
import { Answer } from './answer.tsx';
import { rememberCall } from './calls.tsx';
import { SubmitForm } from './components/button.tsx';
import { Failure } from './components/failure.tsx';
import { FoldedFields } from './components/field.tsx';
import { fieldsOf, readParameters, type Typed } from './field-values.ts';
import { describeFailure } from './gate.ts';

interface RunProps {
  intent: FullIntent;
  typed: Typed;
  onTyped(typed: Typed): void;
  isRunnable: boolean;
}

type Outcome =
  | { state: 'idle' | 'running' | 'declined' }
  | { state: 'answered'; answer: Record<string, unknown>; facts: ExecutionFacts; durationMs: number }
  | { state: 'failed'; error: unknown };

/** A form of the intent's parameters, and what comes of running it. */
export function Run({ intent, typed, onTyped, isRunnable }: RunProps) {
  const inputs: readonly Parameter[] = intent.input_parameters;
  const [issues, setIssues] = useState<Issue[]>([]);
  const [outcome, setOutcome] = useState<Outcome>({ state: 'idle' });

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
      const { answer, facts } = await runIntent(intent.intent_uid, read.values);
      rememberCall({ ...call, durationMs: passed(), answer });
      setOutcome({ state: 'answered', answer, facts, durationMs: passed() });
    } catch (error) {
      if (error instanceof PolicyDeclined) {
        setOutcome({ state: 'declined' });
        return;
      }
      rememberCall({ ...call, durationMs: passed(), refusal: describeFailure(error) });
      setIssues(error instanceof Refusal && error.code === 'INVALID_PARAMETER' ? error.issues : []);
      setOutcome({ state: 'failed', error });
    }
  }

  const isRunning = outcome.state === 'running';
  return (
    <>
      <SubmitForm
        title="Run"
        busyTitle="Running …"
        isBusy={isRunning}
        isDisabled={!isRunnable}
        issues={issues}
        onSubmit={() => void run()}
        note={
          !isRunnable && <span class="quiet">Agents cannot run it: the policy does not permit it, or it is deprecated or a draft.</span>
        }
      >
        {inputs.length === 0 && <p>It takes no parameters.</p>}
        <FoldedFields fields={fieldsOf(inputs)} typed={typed} issues={issues} onTyped={onTyped} />
      </SubmitForm>
      <div aria-live="polite">
        {issues.length > 0 && <p class="problem">Correct what is marked above, then run it again.</p>}
        {outcome.state === 'declined' && <p>You have not accepted the policy, so nothing was signed and nothing has run.</p>}
        {outcome.state === 'answered' && <Answered {...outcome} />}
      </div>
      {outcome.state === 'failed' && <Failure error={outcome.error} />}
    </>
  );
}

const Answered = ({ answer, facts, durationMs }: Extract<Outcome, { state: 'answered' }>) => (
  <>
    <p class="quiet">
      Answered in {durationMs} ms. {facts.left !== undefined && `${facts.left} calls are left. `}
      {facts.executionId && (
        <>
          Execution <code>{facts.executionId}</code>
        </>
      )}
    </p>
    <Answer value={answer} />
  </>
);
