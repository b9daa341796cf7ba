import type { Difference } from '../../../registry/differences.ts';
import { compareVersions, findObstacle, undoChange } from '../../../registry/undo.ts';
import { type ChangeDetails, type ChangePage, changedKinds, type LogEntry } from '../../../schemas/changes.ts';
import type { ServiceList } from '../../../schemas/service.ts';
import { Choice } from '../components/controls.tsx';
import { Awaited } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { Ago, Heading, Link, Part, Shown, Time, Way } from '../components/text.tsx';
import { showToast } from '../components/toast.tsx';
import { openAdminApi, useRead } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import { Act } from './act.tsx';

const filters = { actor: 'Who', id: 'Record' };

export function History({ query }: { query: URLSearchParams }) {
  const asked = Object.fromEntries(query);
  const show = (name: string, value: string) => {
    const { before: _, ...others } = asked;
    go(linkTo(['history'], { ...others, [name]: value }), { isReplacing: true });
  };
  return (
    <>
      <Heading title="History" />
      <div class="toolbar">
        <Choice label="Kind" none="All kinds" options={changedKinds} value={asked.kind ?? ''} onChoose={(kind) => show('kind', kind)} />
        {Object.entries(filters).map(([name, label]) => (
          <input
            key={name}
            type="search"
            aria-label={label}
            placeholder={label}
            value={asked[name] ?? ''}
            onChange={({ currentTarget }) => show(name, currentTarget.value)}
          />
        ))}
      </div>
      <Changes asked={asked} />
    </>
  );
}

/** A page of the log, with a link to the next. */
export function Changes({ asked }: { asked: Record<string, string> }) {
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
        rows={(entries ?? []).map((entry) => [
          <Link to={linkTo(['history', String(entry.seq)])} text={String(entry.seq)} />,
          <Ago at={entry.at} />,
          entry.actor.user_name ?? entry.actor.client_id ?? entry.actor.subject,
          countChanges(entry),
          <Records key={entry.seq} entry={entry} names={names} />,
        ])}
      />
      <Way to={next && linkTo(['history'], next)} title="Older" />
    </>
  );
}

/** The actions, counted if repeated: `create intent (28), delete intent`. */
function countChanges({ changes }: LogEntry): string {
  const groups = Map.groupBy(changes, ({ action, kind }) => `${action} ${kind}`);
  return [...groups].map(([what, { length }]) => (length > 1 ? `${what} (${length})` : what)).join(', ');
}

const places: Partial<Record<string, string>> = { service: 'services', intent: 'intents', agent: 'agents' };

/** The changed record, or several records that can be unfolded. */
function Records({ entry: { changes }, names }: { entry: LogEntry; names: ReadonlyMap<string, string> }) {
  const [first] = changes;
  if (first && changes.length === 1) {
    const { id, kind } = first;
    const place = places[kind];
    return place ? <Link to={linkTo([place, id])} text={names.get(id) ?? id} /> : <Shown text={id} />;
  }
  return (
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
  );
}

/** A change: who made it, the differences in each record, and how to undo it. */
export function ChangeView({ seq }: { seq: string }) {
  const reading = useRead<ChangeDetails>(`/api/changes/${seq}`, {}, 'admin');
  return (
    <article>
      <Way to={linkTo(['history'])} title="History" />
      <Heading title={`Change ${seq}`} />
      <Awaited reading={reading} rows={4} />
      {reading.answer && <Details details={reading.answer.value} />}
    </article>
  );
}

function Details({ details }: { details: ChangeDetails }) {
  const { seq, at, actor, request_id } = details.entry;
  const obstacle = findObstacle(details);
  return (
    <>
      <p>
        <Shown text={actor.user_name ?? actor.client_id ?? actor.subject} />, <Time at={at} />, request <code>{request_id}</code>
      </p>
      {compareVersions(details).map(({ kind, id, action, differences }) => (
        <Part key={`${kind} ${id}`} title={`${action} ${kind} ${id}`}>
          {differences ? (
            <Diff label={`Changes of ${id}`} differences={differences} />
          ) : (
            <p class="quiet">There is no earlier version to compare it with.</p>
          )}
        </Part>
      ))}
      <Part title="Undo">
        {obstacle ? (
          <p>{obstacle}</p>
        ) : (
          <Act
            title="Undo this change"
            isDangerous
            command={`history undo ${seq}`}
            act={() => undoChange(openAdminApi(), details)}
            onDone={() => {
              showToast(`Change ${seq} has been undone.`);
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
