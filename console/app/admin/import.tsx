import type { InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import type { Applied } from '../../../registry/apply.ts';
import type { ServiceChanges } from '../../../registry/compare.ts';
import { changedMembers, describeGone, describeKept, keptTitle } from '../../../registry/describe.ts';
import { operand, quote } from '../../../registry/shell-words.ts';
import { Button } from '../components/button.tsx';
import { Failure } from '../components/failure.tsx';
import { FormField } from '../components/field.tsx';
import { Fields } from '../components/fields.tsx';
import { Heading, Part } from '../components/heading.tsx';
import { FoldedTable } from '../components/table.tsx';
import { Items, Shown, Way } from '../components/text.tsx';
import type { Field } from '../field-values.ts';
import { linkTo } from '../route.ts';
import { onOtherUser, session } from '../session.ts';
import { SignIn } from '../sign-in.tsx';
import { openStore, useDraft, useStore } from '../store.ts';
import { chosenFiles, type Dropped } from './dropped.ts';
import type { DryRun } from './importer.ts';
import { Command } from './record-form.tsx';

type State =
  | { step: 'choose' }
  | { step: 'reading' | 'importing'; done: number; total: number }
  | { step: 'planned' | 'interrupted'; dry: DryRun }
  | { step: 'imported'; applied: Applied; dry: DryRun };

/** What somebody has dropped, and how far the import of it is. */
interface Work {
  dropped: Dropped | undefined;
  state: State;
  failure: unknown;
}

const fields = [
  {
    name: 'baseUrl',
    label: 'Address of the API, if the document does not say it',
    type: 'string',
    hint: 'For example https://api.example.com',
  },
  { name: 'draft', label: 'Import as drafts', type: 'boolean', control: 'check', hint: 'Hidden from agents' },
] as const satisfies Field[];

type Choices = Record<(typeof fields)[number]['name'], string>;

/** It belongs to the page, not to the view: an import goes on while its admin looks at something else, or signs in again. */
const work = openStore<Work>({ dropped: undefined, state: { step: 'choose' }, failure: undefined });

onOtherUser(() => work.set({ dropped: undefined, state: { step: 'choose' }, failure: undefined }));

addEventListener('beforeunload', (event) => {
  if (work.get().state.step === 'importing') event.preventDefault();
});

/** The importer is large, so it is loaded when the first document is there. */
const loadImporter = () => import('./importer.ts');

/** Changes the work, unless it has become that of somebody else in the meantime. */
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
    await shown();
    const choices = { baseUrl: baseUrl === '' ? undefined : baseUrl, isDraft: draft === 'true', main };
    show({ step: 'planned', dry: await dryRun(dropped, choices, (done, total) => show({ step: 'reading', done, total })) });
  } catch (error) {
    show({ step: 'choose' }, error);
  }
}

/** After the browser has drawn what the page shows: a large document keeps it busy for a while. */
const shown = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

async function apply(dropped: Dropped, dry: DryRun): Promise<void> {
  const show = openWork(dropped);
  show({ step: 'importing', done: 0, total: dry.changes.intents.length });
  try {
    const { applyDryRun } = await loadImporter();
    const applied = await applyDryRun(dry, (done, total) => show({ step: 'importing', done, total }));
    show({ step: 'imported', applied, dry });
  } catch (error) {
    show({ step: 'interrupted', dry }, error);
  }
}

/** Registers the operations of a document: what would be done first, then the same with a progress bar. */
export function Import() {
  const { dropped, state, failure } = useStore(work);
  const [choices, setChoices] = useDraft<Choices>('import', { baseUrl: '', draft: '' });
  const { baseUrl, draft } = choices;
  const isBusy = state.step === 'reading' || state.step === 'importing';
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

  const options = [...(baseUrl === '' ? [] : [`--base-url ${quote(baseUrl)}`]), ...(draft === 'true' ? ['--draft'] : [])];
  return (
    <>
      <Way to={linkTo(['services'])} title="Services" />
      <Heading title="Import">Import a document</Heading>
      <p>
        OpenAPI 3.0 to 3.2, Swagger 2.0 or a service description, in JSON or YAML. You see what the import would do before it changes
        anything. If the document refers to other files, drop the folder that holds them all.
      </p>
      <DropField label="Drop the document here, or choose it" isDisabled={isBusy} onFiles={take} multiple accept=".json,.yaml,.yml" />
      <DropField label="Or drop or choose its folder" isDisabled={isBusy} onFiles={take} {...{ webkitdirectory: true }} />
      <Fields fields={fields} typed={choices} issues={[]} onTyped={(typed) => setChoices({ ...choices, ...typed })} />
      {dropped && !isBusy && (
        <p>
          <button type="button" onClick={() => begin(dropped)}>
            Read <Shown text={dropped.name} /> again
          </button>
        </p>
      )}
      <Failure error={failure} />
      {(state.step === 'reading' || state.step === 'importing') && <Progress {...state} />}
      {dropped && state.step === 'planned' && (
        <Planned dry={state.dry} onApply={() => void apply(dropped, state.dry)} onMain={(main) => void read(dropped, choices, main)} />
      )}
      {dropped && state.step === 'interrupted' && (
        <p>
          Some of it may have been done.{' '}
          <Button title="See what is left" kind="main" onClick={() => void read(dropped, choices, state.dry.main)} />
        </p>
      )}
      {state.step === 'imported' && <Imported {...state} />}
      {dropped && (
        <Command text={['npx intent-gate import', ...options, operand('dry' in state ? state.dry.main : dropped.name)].join(' ')} />
      )}
    </>
  );
}

interface DropFieldProps extends Pick<InputHTMLAttributes, 'multiple' | 'accept'> {
  label: string;
  isDisabled: boolean;
  onFiles(files: FileList | null): void;
}

function DropField({ label, isDisabled, onFiles, ...rest }: DropFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...rest}
        id={id}
        class="drop"
        type="file"
        disabled={isDisabled}
        onChange={({ currentTarget }) => onFiles(currentTarget.files)}
      />
    </div>
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
          It continues here once you have signed in again. <SignIn />
        </p>
      )}
    </div>
  );
}

const serviceTexts = {
  create: () => 'the service is registered',
  update: (changes: ServiceChanges) => `the service itself is changed (${changedMembers(changes).join(', ')})`,
  same: () => 'the service stays as it is',
};

const missingTitle =
  'The document refers to files that you have not dropped. Operations that need them are left out, and schemas in them allow any value. Drop the folder that holds all of them.';

interface PlannedProps {
  dry: DryRun;
  onApply(): void;
  /** another file is the document */
  onMain(main: string): void;
}

function Planned({ dry: { plan, changes, main, candidates, files, missing }, onApply, onMain }: PlannedProps) {
  const { intents, service, unchanged, foreign, extra } = changes;
  const isNothing = intents.length === 0 && service.kind === 'same';
  return (
    <Part
      title={
        <>
          What would be done to <Shown text={changes.name} />
        </>
      }
    >
      {candidates.length > 1 && (
        <FormField
          field={{ name: 'main', label: 'Main document', type: 'string', enum: candidates, required: true, hint: '' }}
          text={JSON.stringify(main)}
          onText={(text) => onMain(JSON.parse(text))}
        />
      )}
      {missing.length > 0 && (
        <div class="notice">
          <Items title={missingTitle} texts={missing.slice(0, 20)} />
          {missing.length > 20 && <p>and {missing.length - 20} more</p>}
        </div>
      )}
      <ul>
        <li>{serviceTexts[service.kind](changes)}</li>
        <li>{countOf(intents.filter(({ kind }) => kind === 'create').length, 'intent')} created</li>
        <li>{countOf(intents.filter(({ kind }) => kind === 'update').length, 'intent')} changed</li>
        <li>{unchanged} stay as they are</li>
        {foreign.length > 0 && <li>{countOf(foreign.length, 'intent')} left out: another service has the same intent_uid</li>}
        <li>{countOf(plan.skipped.length, 'operation')} left out</li>
      </ul>
      <Items title={describeGone(extra.length, 'stay')} texts={extra} />
      <Items title={keptTitle} texts={describeKept(changes.kept)} />
      {plan.credentials.length > 0 && (
        <div class="notice">
          <Items title="The API requires a credential:" texts={plan.credentials} />
          <p>You can set it on the page of the service afterwards.</p>
        </div>
      )}
      <p class="buttons">
        <Button
          title={isNothing ? 'Nothing to do' : `Import ${intents.length} ${intents.length === 1 ? 'intent' : 'intents'}`}
          kind="main"
          isDisabled={isNothing}
          onClick={onApply}
        />
      </p>
      <FoldedTable
        title="Created or changed"
        label="Created or changed"
        rows={intents.map(({ kind, input }) => [`${kind} ${input.intent_uid}`, input.intent_name])}
      />
      <FoldedTable title="Left out" label="Left out" rows={plan.skipped.map(({ operation, reason }) => [operation, reason])} />
      {files.length > 1 && <FoldedTable title="Files read" label="Files read" rows={files.map((file): [string, string] => [file, ''])} />}
      <FoldedTable
        title="Done differently from what the document says"
        label="Done differently from what the document says"
        rows={plan.notes.map(({ path, note }) => [path, note])}
      />
    </Part>
  );
}

/** `1 intent is`, `2 intents are` */
const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? ' is' : 's are'}`;

const Imported = ({ applied, dry }: { applied: Applied; dry: DryRun }) => (
  <section class="part" aria-labelledby="done-title" aria-live="polite">
    <h2 id="done-title">
      {applied.created} created, {applied.updated} changed, {applied.failed.length} failed
    </h2>
    {applied.service_changed && <p>The service itself changed ({applied.service_changed.join(', ')}).</p>}
    <Items title={describeGone(dry.changes.extra.length, 'stay')} texts={dry.changes.extra} />
    <FoldedTable title="Failed" label="Failed" rows={applied.failed.map(({ intent_uid, message }) => [intent_uid, message])} />
    <p class="buttons">
      <a class="button" href={linkTo([], { service: dry.changes.name })}>
        Explore its operations
      </a>
      <a class="button" href={linkToCredential(applied.service_id, dry.plan)}>
        {dry.plan.credentialPlaces.length > 0 ? 'Set its credential' : 'To the service'}
      </a>
    </p>
  </section>
);

/** The page of the service, which asks for what the document says that callers prove themselves by. */
function linkToCredential(serviceId: string, { credentialPlaces }: DryRun['plan']): string {
  const query = new URLSearchParams(credentialPlaces.map(({ kind, name }) => [kind, name]));
  return query.size > 0 ? `${linkTo(['services', serviceId], { tab: 'credential' })}&${query}` : linkTo(['services', serviceId]);
}
