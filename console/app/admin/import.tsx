import { useEffect } from 'preact/hooks';
import type { Applied } from '../../../registry/apply.ts';
import { describeUnwanted } from '../../../registry/describe.ts';
import { operand, quote } from '../../../registry/shell-words.ts';
import type { ShownService } from '../../../schemas/service.ts';
import { Button, DropField, SignIn } from '../components/controls.tsx';
import { Command } from '../components/copyable.tsx';
import { Fields } from '../components/fields.tsx';
import { Failure } from '../components/states.tsx';
import { FoldedTable } from '../components/table.tsx';
import { Badge, ButtonLink, Heading, Items, Link, Shown, Way } from '../components/text.tsx';
import type { Field } from '../field-values.ts';
import { useRead } from '../gate.ts';
import { linkTo } from '../route.ts';
import { onOtherUser, session } from '../session.ts';
import { openStore, useDraft, useStore } from '../store.ts';
import { isCredentialMissing, keepSuggested } from './credential.tsx';
import { chosenFiles, type Dropped } from './dropped.ts';
import { ImportAddress } from './import-address.tsx';
import { ImportPlan } from './import-plan.tsx';
import type { DryRun } from './importer.ts';

type State =
  | { step: 'choose' }
  | { step: 'reading' | 'importing'; done: number; total: number }
  | { step: 'planned' | 'interrupted'; dry: DryRun }
  | { step: 'imported'; applied: Applied; dry: DryRun };

/** The dropped files, and the state of their import. */
interface Work {
  dropped: Dropped | undefined;
  state: State;
  failure: unknown;
}

const fields = [
  {
    name: 'baseUrl',
    label: 'API URL',
    type: 'string',
    hint: 'Only if the document does not name it, for example https://api.example.com',
  },
  { name: 'draft', label: 'Import as drafts', type: 'boolean', control: 'check', hint: 'Hidden from agents' },
] as const satisfies Field[];

type Choices = Record<(typeof fields)[number]['name'], string>;

/** Belongs to the page, not the view, so that an import continues while the admin opens other views or signs in again. */
const work = openStore<Work>({ dropped: undefined, state: { step: 'choose' }, failure: undefined });

onOtherUser(() => work.set({ dropped: undefined, state: { step: 'choose' }, failure: undefined }));

addEventListener('beforeunload', (event) => {
  if (work.get().state.step === 'importing') event.preventDefault();
});

/** Loads the importer, which is large, only when it is needed. */
const loadImporter = () => import('./importer.ts');

/** Returns a function that updates the work, unless another person has signed in meanwhile. */
function openWork(dropped: Dropped): (state: State, failure?: unknown) => void {
  const begunBy = session.get()?.userName;
  return (state, failure) => {
    if (session.get()?.userName === begunBy) work.set({ dropped, state, failure });
  };
}

async function read(dropped: Dropped, { baseUrl, draft }: Choices, main?: string): Promise<void> {
  const show = openWork(dropped);
  show({ step: 'reading', done: 0, total: 0 });
  try {
    const { dryRun } = await loadImporter();
    const choices = { baseUrl: baseUrl === '' ? undefined : baseUrl, isDraft: draft === 'true', main };
    show({ step: 'planned', dry: await dryRun(dropped, choices, (done, total) => show({ step: 'reading', done, total })) });
  } catch (error) {
    show({ step: 'choose' }, error);
  }
}

async function apply(dropped: Dropped, dry: DryRun): Promise<void> {
  const show = openWork(dropped);
  show({ step: 'importing', done: 0, total: dry.changes.intents.length });
  try {
    const { applyDryRun } = await loadImporter();
    const applied = await applyDryRun(dry, (done, total) => show({ step: 'importing', done, total }));
    if (applied.service_id) keepSuggested(applied.service_id, dry.plan);
    show({ step: 'imported', applied, dry });
  } catch (error) {
    show({ step: 'interrupted', dry }, error);
  }
}

/** Imports a document: first shows the plan, then applies it with a progress bar. */
export function Import() {
  const { dropped, state, failure } = useStore(work);
  const [choices, setChoices] = useDraft<Choices>('import', { baseUrl: '', draft: '' });
  const { baseUrl, draft } = choices;
  const isBusy = state.step === 'reading' || state.step === 'importing';
  // whoever leaves the result has seen it
  useEffect(() => () => void (work.get().state.step === 'imported' && work.set({ ...work.get(), state: { step: 'choose' } })), []);
  const begin = (chosen: Dropped | undefined) => {
    if (chosen && !isBusy) void read(chosen, choices);
  };
  const take = (files: FileList | null) => {
    try {
      begin(chosenFiles(files));
    } catch (error) {
      work.set({ ...work.get(), failure: error });
    }
  };

  const options = [
    ...(baseUrl === '' ? [] : [`--base-url ${quote(baseUrl)}`]),
    ...(draft === 'true' ? ['--draft'] : []),
    ...(dropped?.serviceId ? [`--service ${dropped.serviceId}`] : []),
  ];
  return (
    <>
      <Way to={linkTo(['services'])} title="Services" />
      <Heading title="Import">Import a document</Heading>
      <details open={state.step === 'choose'}>
        <summary>{dropped ? 'Choose another document' : 'Choose the document'}</summary>
        <p>
          OpenAPI 3.0 to 3.2, Swagger 2.0 or a service description, in JSON or YAML. You review the changes before they are made. If the
          document refers to other files, drop their folder.
        </p>
        <DropField label="Drop the document here, or choose it" disabled={isBusy} onFiles={take} multiple accept=".json,.yaml,.yml" />
        <details>
          <summary>Choose a folder instead</summary>
          <DropField label="Folder of the document" disabled={isBusy} onFiles={take} {...{ webkitdirectory: true }} />
        </details>
        <ImportAddress isBusy={isBusy} onAddress={(name, serviceId) => begin({ name, files: new Map(), isAddress: true, serviceId })} />
        <Fields fields={fields} typed={choices} issues={[]} onTyped={(typed) => setChoices({ ...choices, ...typed })} />
      </details>
      {dropped && !isBusy && (
        <p>
          <Button title={<Shown text={`Read ${dropped.name} again`} />} onClick={() => begin(dropped)} />
        </p>
      )}
      <Failure error={failure} />
      {(state.step === 'reading' || state.step === 'importing') && <Progress {...state} />}
      {dropped && state.step === 'planned' && (
        <ImportPlan
          dry={state.dry}
          isAddress={dropped.isAddress === true}
          onApply={(chosen) => void apply(dropped, chosen)}
          onMain={(main) => void read(dropped, choices, main)}
        />
      )}
      {dropped && state.step === 'interrupted' && (
        <p>
          The import stopped, and may be incomplete.{' '}
          <Button title="Review what is left" kind="main" onClick={() => void read(dropped, choices, state.dry.main)} />
        </p>
      )}
      {state.step === 'imported' && <Imported {...state} />}
      {dropped && (
        <Command text={['import', ...options, operand('dry' in state && !dropped.isAddress ? state.dry.main : dropped.name)].join(' ')} />
      )}
    </>
  );
}

function Progress({ step, done, total }: { step: 'reading' | 'importing'; done: number; total: number }) {
  const isWaiting = useStore(session)?.tokens === undefined;
  return (
    <div role="status">
      <label for="progress">{step === 'reading' ? 'Reading and comparing' : `Importing, ${done} of ${total}`}</label>
      <br />
      <progress id="progress" {...(total > 0 && { value: done, max: total })} />
      {isWaiting && (
        <p>
          Sign in again to continue. <SignIn />
        </p>
      )}
    </div>
  );
}

const Imported = ({ applied, dry }: { applied: Applied; dry: DryRun }) => (
  <section class="part" aria-labelledby="done-title" aria-live="polite">
    <h2 id="done-title">
      {applied.service_id === undefined ? (
        <Shown text={dry.changes.name} />
      ) : (
        <Link to={linkTo(['services', applied.service_id])} text={dry.changes.name} />
      )}
      : {applied.created} created, {applied.updated} changed, {applied.failed.length} failed
    </h2>
    {applied.service_changed && <p>Service settings changed ({applied.service_changed.join(', ')}).</p>}
    <Items title={describeUnwanted(dry.changes.unwanted.length, 'kept')} texts={dry.changes.unwanted} />
    <FoldedTable title="Failed" rows={applied.failed.map(({ intent_uid, message }) => [intent_uid, message])} />
    {applied.service_id !== undefined && <NextSteps serviceId={applied.service_id} dry={dry} />}
  </section>
);

function NextSteps({ serviceId, dry: { changes } }: { serviceId: string; dry: DryRun }) {
  const service = useRead<ShownService>(`/api/services/${serviceId}`, {}, 'admin').answer?.value;
  const needsCredential = isCredentialMissing(serviceId, service?.credential);
  const hasNamespace = changes.service.input.namespace !== undefined;
  return (
    <>
      {needsCredential && (
        <p>
          <Badge tone="warn">credential missing</Badge> Next, set the credential that the service requires.
        </p>
      )}
      <p class="buttons">
        {needsCredential ? (
          <ButtonLink to={linkTo(['services', serviceId], { tab: 'credential' })} title="Set its credential" kind="main" />
        ) : (
          <ButtonLink to={linkTo(['services', serviceId])} title="Go to the service" />
        )}
        <ButtonLink to={linkTo([], { service: changes.name })} title="Explore its operations" kind={needsCredential ? '' : 'main'} />
        {!hasNamespace && <ButtonLink to={linkTo(['services', serviceId], { tab: 'settings' })} title="Delegate to a team" />}
      </p>
    </>
  );
}
