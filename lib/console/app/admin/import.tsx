import { useState } from 'preact/hooks';
import type { Applied } from '../../../../bin/cli/registry/apply.ts';
import { changedMembers, describeGone, describeKept, keptTitle } from '../../../../bin/cli/registry/describe.ts';
import { operand, quote } from '../code-samples.ts';
import { Failure, Heading, Items, Part, Shown, Table, Way } from '../parts.tsx';
import { linkTo } from '../route.ts';
import { session } from '../session.ts';
import { SignIn } from '../sign-in.tsx';
import { openStore, useDraft, useStore } from '../store.ts';
import { chosenFiles, type Dropped, droppedFiles } from './dropped.ts';
import type { DryRun } from './importer.ts';
import { Command, type Field, RecordField } from './record-form.tsx';

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
    kind: 'line',
    hint: 'For example https://api.example.com',
  },
  { name: 'draft', label: 'As drafts, which agents do not see', kind: 'check' },
] as const satisfies Field[];

/** What is in these fields. */
type Choices = Record<(typeof fields)[number]['name'], string>;

/** It belongs to the page, not to the view: an import goes on while its admin looks at something else, or signs in again. */
const work = openStore<Work>({ dropped: undefined, state: { step: 'choose' }, failure: undefined });

let owner = session.get()?.userName;

/** Nobody sees what somebody else has begun. */
session.subscribe(() => {
  const { userName } = session.get() ?? {};
  if (userName === owner) return;
  owner = userName;
  work.set({ dropped: undefined, state: { step: 'choose' }, failure: undefined });
});

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
  const [isOver, setOver] = useState(false);
  const isBusy = state.step === 'reading' || state.step === 'importing';
  const begin = (chosen: Dropped | undefined) => {
    if (chosen && !isBusy) void read(chosen, choices);
  };
  const take = (chosen: Promise<Dropped | undefined>) =>
    chosen.then(begin, (error: unknown) => work.set({ ...work.get(), failure: error }));

  const options = [...(baseUrl === '' ? [] : [`--base-url ${quote(baseUrl)}`]), ...(draft === 'true' ? ['--draft'] : [])];
  return (
    <>
      <Way to={linkTo(['services'])} title="Services" />
      <Heading title="Import">Import a document</Heading>
      <p>
        OpenAPI 3.0 to 3.2, Swagger 2.0 or a service description, in JSON or YAML. Nothing is changed before you have seen what would be
        done. If it refers to other files, drop the folder that holds them all.
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
          if (event.dataTransfer) void take(droppedFiles(event.dataTransfer));
        }}
      >
        <label for="document">Drop the document here, or choose it</label>
        <input
          id="document"
          type="file"
          multiple
          accept=".json,.yaml,.yml,application/json"
          disabled={isBusy}
          onChange={({ currentTarget: { files } }) => void take(chosenFiles(files))}
        />
        <label for="folder">Or choose its folder</label>
        <input
          id="folder"
          type="file"
          disabled={isBusy}
          {...{ webkitdirectory: true }}
          onChange={({ currentTarget: { files } }) => void take(chosenFiles(files))}
        />
      </div>
      {fields.map((field) => (
        <RecordField
          key={field.name}
          field={field}
          text={choices[field.name]}
          issues={[]}
          onText={(text) => setChoices({ ...choices, [field.name]: text })}
        />
      ))}
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
          <button type="button" class="main" onClick={() => void read(dropped, choices, state.dry.main)}>
            See what is left
          </button>
        </p>
      )}
      {state.step === 'imported' && <Imported {...state} />}
      {dropped && (
        <Command text={['npx intent-gate import', ...options, operand('dry' in state ? state.dry.main : dropped.name)].join(' ')} />
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
          It goes on from here as soon as you have signed in again. <SignIn />
        </p>
      )}
    </div>
  );
}

interface PlannedProps {
  dry: DryRun;
  onApply(): void;
  /** another file is the document */
  onMain(main: string): void;
}

function Planned({ dry: { plan, changes, main, candidates, files, missing }, onApply, onMain }: PlannedProps) {
  const { intents, service, unchanged, foreign, extra } = changes;
  const isNothing = intents.length === 0 && service.kind === 'same';
  const kept = describeKept(changes.kept);
  return (
    <Part
      title={
        <>
          What would be done to <Shown text={changes.name} />
        </>
      }
    >
      {candidates.length > 1 && (
        <div class="field">
          <label for="main">Which of the files is the document</label>
          <select id="main" value={main} onChange={({ currentTarget }) => onMain(currentTarget.value)}>
            {candidates.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
      )}
      <Missing missing={missing} />
      <ul>
        <li>
          {
            {
              create: 'the service is registered',
              update: `the service itself is changed (${changedMembers(changes).join(', ')})`,
              same: 'the service stays as it is',
            }[service.kind]
          }
        </li>
        <li>{countOf(intents.filter(({ kind }) => kind === 'create').length, 'intent')} created</li>
        <li>{countOf(intents.filter(({ kind }) => kind === 'update').length, 'intent')} changed</li>
        <li>{unchanged} stay as they are</li>
        {foreign.length > 0 && <li>{countOf(foreign.length, 'intent')} left out: another service has the same intent_uid</li>}
        <li>{countOf(plan.skipped.length, 'operation')} left out</li>
      </ul>
      <Gone uids={extra} />
      {kept.length > 0 && (
        <>
          <p>{keptTitle}</p>
          <Items texts={kept} />
        </>
      )}
      {plan.credentials.length > 0 && (
        <div class="notice">
          <p>The API asks its callers for:</p>
          <Items texts={plan.credentials} />
          <p>The page of the service asks for it afterwards.</p>
        </div>
      )}
      <p class="buttons">
        <button type="button" class="main" disabled={isNothing} onClick={onApply}>
          {isNothing ? 'Nothing to do' : `Import ${intents.length} ${intents.length === 1 ? 'intent' : 'intents'}`}
        </button>
      </p>
      <Listed title="Created or changed" rows={intents.map(({ kind, input }) => [`${kind} ${input.intent_uid}`, input.intent_name])} />
      <Listed title="Left out" rows={plan.skipped.map(({ operation, reason }) => [operation, reason])} />
      {files.length > 1 && <Listed title="Files read" rows={files.map((file): [string, string] => [file, ''])} />}
      <Listed title="Done differently from what the document says" rows={plan.notes.map(({ path, note }) => [path, note])} />
    </Part>
  );
}

/** `1 intent is`, `2 intents are` */
const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? ' is' : 's are'}`;

/** Intents that the service has and the document does not. */
const Gone = ({ uids }: { uids: readonly string[] }) =>
  uids.length === 0 ? null : (
    <>
      <p>{describeGone(uids.length, 'stay')}</p>
      <Items texts={uids} />
    </>
  );

/** References that lead to nothing that was dropped, and how they can be followed. */
function Missing({ missing }: { missing: readonly string[] }) {
  if (missing.length === 0) return null;
  return (
    <div class="notice">
      <p>
        The document refers to files that you have not dropped. Operations that need them are left out, and schemas in them allow any value.
        Drop the folder that holds all of them.
      </p>
      <Items texts={missing.slice(0, 20)} />
      {missing.length > 20 && <p>and {missing.length - 20} more</p>}
    </div>
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
      <Table label={title} rows={shown} />
      {rows.length > shown.length && <p>The command line shows the others.</p>}
    </details>
  );
}

const Imported = ({ applied, dry }: { applied: Applied; dry: DryRun }) => (
  <section class="part" aria-labelledby="done-title" aria-live="polite">
    <h2 id="done-title">
      {applied.created} created, {applied.updated} changed, {applied.failed.length} failed
    </h2>
    {applied.service_changed && <p>The service itself changed ({applied.service_changed.join(', ')}).</p>}
    <Gone uids={dry.changes.extra} />
    <Listed
      title="Failed"
      rows={applied.failed.map(({ intent_uid, message }) => [
        intent_uid,
        message.replace('Run the command again', 'Read the document again'),
      ])}
    />
    <p class="buttons">
      <a class="button" href={linkTo([], { service: dry.changes.name })}>
        See what can be done now
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
  return `${linkTo(['services', serviceId])}${query.size > 0 ? `?${query}` : ''}`;
}
