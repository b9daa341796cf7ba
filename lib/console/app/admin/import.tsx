import { useState } from 'preact/hooks';
import type { Applied } from '../../../../bin/cli/registry/apply.ts';
import { quote } from '../code-samples.ts';
import { Failure, Heading, Scrolled, Shown } from '../parts.tsx';
import { linkTo } from '../route.ts';
import type { DryRun } from './importer.ts';
import { Command } from './record-form.tsx';

type State =
  | { step: 'choose' }
  | { step: 'reading' | 'importing'; done: number; total: number }
  | { step: 'planned'; dry: DryRun }
  | { step: 'imported'; applied: Applied; dry: DryRun };

/** The importer is large, so it is loaded when the first document is there. */
const loadImporter = () => import('./importer.ts');

/** Registers the operations of a document: what would be done first, then the same with a progress bar. */
export function Import() {
  const [file, setFile] = useState<File>();
  const [baseUrl, setBaseUrl] = useState('');
  const [isDraft, setDraft] = useState(false);
  const [state, setState] = useState<State>({ step: 'choose' });
  const [failure, setFailure] = useState<unknown>();
  const [isOver, setOver] = useState(false);

  async function read(chosen: File | undefined = file): Promise<void> {
    if (chosen === undefined) return;
    setFile(chosen);
    setFailure(undefined);
    setState({ step: 'reading', done: 0, total: 0 });
    try {
      const { dryRun } = await loadImporter();
      const choices = { baseUrl: baseUrl === '' ? undefined : baseUrl, isDraft };
      const dry = await dryRun(chosen, choices, (done, total) => setState({ step: 'reading', done, total }));
      setState({ step: 'planned', dry });
    } catch (error) {
      setFailure(error);
      setState({ step: 'choose' });
    }
  }

  async function apply(dry: DryRun): Promise<void> {
    setFailure(undefined);
    setState({ step: 'importing', done: 0, total: dry.changes.intents.length });
    try {
      const { applyDryRun } = await loadImporter();
      const applied = await applyDryRun(dry, (done, total) => setState({ step: 'importing', done, total }));
      setState({ step: 'imported', applied, dry });
    } catch (error) {
      setFailure(error);
      setState({ step: 'planned', dry });
    }
  }

  const options = [...(baseUrl === '' ? [] : [`--base-url ${quote(baseUrl)}`]), ...(isDraft ? ['--draft'] : [])];
  return (
    <>
      <p>
        <a href={linkTo(['services'])}>Services</a>
      </p>
      <Heading title="Import">Import a document</Heading>
      <p>
        OpenAPI 3.0 to 3.2, Swagger 2.0 or a service description, in JSON or YAML. Nothing is changed before you have seen what would be
        done.
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a short cut for the field within */}
      <div
        class={isOver ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void read(event.dataTransfer?.files[0]);
        }}
      >
        <label for="document">Drop the document here, or choose it</label>
        <input
          id="document"
          type="file"
          accept=".json,.yaml,.yml,application/json"
          onChange={({ currentTarget: { files } }) => void read(files?.[0])}
        />
      </div>
      <div class="field">
        <label for="base-url">Address of the API, if the document does not say it</label>
        <input
          id="base-url"
          type="text"
          placeholder="https://api.example.com"
          value={baseUrl}
          onInput={({ currentTarget }) => setBaseUrl(currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="draft">
          <input id="draft" type="checkbox" checked={isDraft} onChange={({ currentTarget }) => setDraft(currentTarget.checked)} /> As
          drafts, which agents do not see
        </label>
      </div>
      {file && state.step !== 'importing' && (
        <p>
          <button type="button" onClick={() => void read()}>
            Read <Shown text={file.name} /> again
          </button>
        </p>
      )}
      <Failure error={failure} />
      {(state.step === 'reading' || state.step === 'importing') && <Progress {...state} />}
      {state.step === 'planned' && <Planned dry={state.dry} onApply={() => void apply(state.dry)} />}
      {state.step === 'imported' && <Imported {...state} />}
      {file && <Command text={['npx intent-gate import', quote(file.name), ...options].join(' ')} />}
    </>
  );
}

const Progress = ({ step, done, total }: { step: 'reading' | 'importing'; done: number; total: number }) => (
  <p role="status">
    <label for="progress">{step === 'reading' ? 'Reading and comparing' : `Importing, ${done} of ${total}`}</label>
    <br />
    <progress id="progress" {...(total > 0 && { value: done, max: total })} />
  </p>
);

function Planned({ dry: { plan, changes }, onApply }: { dry: DryRun; onApply(): void }) {
  const { intents, service, unchanged, foreign, extra } = changes;
  const isNothing = intents.length === 0 && service.kind === 'same';
  return (
    <section class="part" aria-labelledby="plan-title">
      <h2 id="plan-title">
        What would be done to <Shown text={changes.name} />
      </h2>
      <ul>
        <li>
          {
            { create: 'the service is registered', update: 'the record of the service is changed', same: 'the service stays as it is' }[
              service.kind
            ]
          }
        </li>
        <li>{intents.filter(({ kind }) => kind === 'create').length} intents are created</li>
        <li>{intents.filter(({ kind }) => kind === 'update').length} intents are changed</li>
        <li>{unchanged} stay as they are</li>
        {extra.length > 0 && <li>{extra.length} are not in the document, and stay</li>}
        {foreign.length > 0 && <li>{foreign.length} belong to another service, and are left out</li>}
        <li>{plan.skipped.length} operations are left out</li>
      </ul>
      {plan.credentials.length > 0 && (
        <div class="notice">
          <p>The API asks its callers for:</p>
          <ul>
            {plan.credentials.map((credential) => (
              <li key={credential}>
                <Shown text={credential} />
              </li>
            ))}
          </ul>
          <p>Set it on the page of the service afterwards.</p>
        </div>
      )}
      <p class="buttons">
        <button type="button" class="main" disabled={isNothing} onClick={onApply}>
          {isNothing ? 'Nothing to do' : `Import ${intents.length} intents`}
        </button>
      </p>
      <Listed title="Created or changed" rows={intents.map(({ kind, input }) => [`${kind} ${input.intent_uid}`, input.intent_name])} />
      <Listed title="Left out" rows={plan.skipped.map(({ operation, reason }) => [operation, reason])} />
      <Listed title="Done differently from what the document says" rows={plan.notes.map(({ path, note }) => [path, note])} />
    </section>
  );
}

/** Two columns, which are shown when somebody asks for them. */
function Listed({ title, rows }: { title: string; rows: readonly [string, string][] }) {
  if (rows.length === 0) return null;
  const shown = rows.slice(0, 200);
  return (
    <details>
      <summary>
        {title} ({rows.length})
      </summary>
      <Scrolled label={title}>
        <table>
          <tbody>
            {shown.map(([name, text]) => (
              <tr key={name + text}>
                <th scope="row">
                  <Shown text={name} />
                </th>
                <td>
                  <Shown text={text} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {rows.length > shown.length && <p>The command line shows the others.</p>}
    </details>
  );
}

const Imported = ({ applied, dry }: { applied: Applied; dry: DryRun }) => (
  <section class="part" aria-labelledby="done-title" aria-live="polite">
    <h2 id="done-title">
      {applied.created} created, {applied.updated} changed, {applied.failed.length} failed
    </h2>
    <Listed title="Failed" rows={applied.failed.map(({ intent_uid, message }) => [intent_uid, message])} />
    <p class="buttons">
      <a class="button" href={linkTo([], { service: dry.changes.name })}>
        See what can be done now
      </a>
      <a class="button" href={linkTo(['services', applied.service_id])}>
        To the service
      </a>
    </p>
  </section>
);
