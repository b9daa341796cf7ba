import type { ComponentChildren } from 'preact';
import type { Difference } from '../../../registry/differences.ts';
import { compareVersions, findObstacle, readWhole, undoChanges } from '../../../registry/undo.ts';
import { type ChangeDetails, type ChangePage, changedKinds, type LogEntry } from '../../../schemas/changes.ts';
import type { ServiceList } from '../../../schemas/service.ts';
import { Choice, SearchBox } from '../components/controls.tsx';
import { Awaited } from '../components/states.tsx';
import { FoldedTable, Table } from '../components/table.tsx';
import { Ago, Heading, Link, Part, Shown, Time, Way } from '../components/text.tsx';
import { showToast } from '../components/toast.tsx';
import { openAdminApi, readAll, useRead, useWork } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import { Act } from './act.tsx';
import { Downloads } from './downloads.tsx';

const entriesOf = (page: ChangePage) => page.entries;
const filters = { actor: 'Who', id: 'Record' };

export function History({ query }: { query: URLSearchParams }) {
  const asked = Object.fromEntries(query);
  const { before: _, ...others } = asked;
  const show = (name: string, value: string) => go(linkTo(['history'], { ...others, [name]: value }), { isReplacing: true });
  return (
    <>
      <Heading title="History" />
      <div class="toolbar">
        <Choice label="Kind" none="All kinds" options={changedKinds} value={asked.kind ?? ''} onChoose={(kind) => show('kind', kind)} />
        {Object.entries(filters).map(([name, label]) => (
          <SearchBox key={name} label={label} value={asked[name] ?? ''} onChange={({ currentTarget }) => show(name, currentTarget.value)} />
        ))}
        <label class="check" title="Since the beginning of this day, in UTC">
          Since
          <input
            type="date"
            value={asked.since?.slice(0, 10) ?? ''}
            onChange={({ currentTarget: { value } }) => show('since', value && `${value}T00:00:00Z`)}
          />
        </label>
      </div>
      <Changes asked={asked}>
        <Downloads name="history" records={() => readAll('/api/changes', entriesOf, { query: others, isAdmin: true })} />
      </Changes>
    </>
  );
}

/** A page of the log, with a link to the next, and what belongs below it. */
export function Changes({ asked, children }: { asked: Record<string, string>; children?: ComponentChildren }) {
  const reading = useRead<ChangePage>('/api/changes', { page_size: '50', ...asked }, 'admin');
  const services = useRead<ServiceList>('/api/services', { page_size: '100' });
  const names = new Map(services.answer?.value.services.map(({ service_id, service_name }) => [service_id, service_name]));
  // wait for the names, because late ones would move the columns
  const isNamed = services.answer !== undefined || services.error !== undefined;
  const { value: { entries, head } = {}, next } = (isNamed && reading.answer) || {};
  return (
    <>
      <Awaited reading={isNamed ? reading : { error: reading.error, reload: reading.reload }} />
      <p role="status" class="quiet">
        {head && head.seq > 0 && (
          <>
            Latest entry: {head.seq} · <code>{head.digest}</code>
          </>
        )}
        {entries?.length === 0 && ' No entries match.'}
      </p>
      <Table
        label="Changes"
        heads={['Entry', 'When', 'Who', 'What', 'Record']}
        rows={[...Map.groupBy(entries ?? [], ({ import_id, seq }) => import_id ?? seq).values()].map(([newest, ...others]) => {
          if (!newest) return [];
          const { seq, at, actor } = newest;
          const first = others.at(-1)?.seq;
          const changes = [newest, ...others].flatMap((entry) => entry.changes);
          return [
            <Link to={linkTo(['history', String(seq)])} text={first === undefined ? String(seq) : `${first} to ${seq}`} />,
            <Ago at={at} />,
            actor.user_name ?? actor.client_id ?? actor.subject,
            countChanges(changes),
            <Records key={seq} changes={changes} names={names} />,
          ];
        })}
      />
      <Way to={next && linkTo(['history'], next)} title="Older" />
      {entries && children}
    </>
  );
}

/** The actions, counted if repeated: `create 28 intents, delete intent`. */
function countChanges(changes: LogEntry['changes']): string {
  const groups = Map.groupBy(changes, ({ action, kind }) => `${action} ${kind}`);
  return [...groups].map(([what, { length }]) => (length > 1 ? `${what.replace(' ', ` ${length} `)}s` : what)).join(', ');
}

const places: Partial<Record<string, string>> = { service: 'services', intent: 'intents', agent: 'agents' };

/** The changed record, or several records that can be unfolded, with their service if it was changed too. */
function Records({ changes, names }: { changes: LogEntry['changes']; names: ReadonlyMap<string, string> }) {
  const service = changes.find(({ kind }) => kind === 'service');
  const only = changes.length === 1 ? changes[0] : service;
  const place = only && places[only.kind];
  const link = only && (place ? <Link to={linkTo([place, only.id])} text={names.get(only.id) ?? only.id} /> : <Shown text={only.id} />);
  if (changes.length === 1) return link;
  return (
    <>
      {link}
      <details>
        <summary>{changes.length} records</summary>
        <ul>
          {changes.map(({ action, kind, id }) => (
            <li key={`${kind} ${id}`}>
              {action} <Shown text={id} />
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** A change: who made it, the differences in each record, and how to undo it. */
export function ChangeView({ seq }: { seq: string }) {
  const reading = useWork(() => readWhole(openAdminApi(), seq), [seq]);
  return (
    <article>
      <Way to={linkTo(['history'])} title="History" />
      <Heading title={`Change ${seq}`} />
      <Awaited reading={reading} rows={4} />
      {reading.answer && <Details seq={seq} whole={reading.answer} />}
    </article>
  );
}

function Details({ seq, whole }: { seq: string; whole: readonly ChangeDetails[] }) {
  const [{ entry } = { entry: undefined }] = whole;
  const obstacle = whole.map(findObstacle).find((one) => one !== undefined);
  const records = whole.flatMap(compareVersions);
  const created = records.filter(({ differences }) => !differences).map(({ action, kind, id }) => `${action} ${kind} ${id}`);
  const what = whole.length > 1 ? 'this import' : 'this change';
  if (!entry) return null;
  const { at, actor, request_id } = entry;
  return (
    <>
      <p>
        <Shown text={actor.user_name ?? actor.client_id ?? actor.subject} />, <Time at={at} />, request <code>{request_id}</code>
      </p>
      {whole.length > 1 && <p>Part of an import of {whole.length} entries.</p>}
      <FoldedTable title="Records" rows={created.map((text) => [text])} />
      {records.map(
        ({ kind, id, action, differences }) =>
          differences && (
            <Part key={`${kind} ${id}`} title={`${action} ${kind} ${id}`}>
              <Diff label={`Changes of ${id}`} differences={differences} />
            </Part>
          ),
      )}
      <Part title="Undo">
        {obstacle ? (
          <p>{obstacle}</p>
        ) : (
          <Act
            title={`Undo ${what}`}
            isDangerous
            command={`history undo ${seq}`}
            act={() => undoChanges(openAdminApi(), whole)}
            onDone={() => {
              showToast(`Undone: ${what.replace('this', 'the')}.`);
              go(linkTo(['history']));
            }}
          />
        )}
      </Part>
    </>
  );
}

/** The members in which two versions of a record differ. */
const Diff = ({ label, differences }: { label: string; differences: readonly Difference[] }) => (
  <Table
    label={label}
    heads={['Member', 'Before', 'After']}
    rows={differences.map(({ path, before, after }) => [
      <code>{path.slice(1)}</code>,
      before === undefined ? '–' : <del>{<Shown text={textOf(before)} />}</del>,
      after === undefined ? '–' : <ins>{<Shown text={textOf(after)} />}</ins>,
    ])}
  />
);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));
