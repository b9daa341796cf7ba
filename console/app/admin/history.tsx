import { type ChangePage, changedKinds, type LogEntry } from '../../../schemas/changes.ts';
import type { ServiceList } from '../../../schemas/service.ts';
import { Choice } from '../components/controls.tsx';
import { Awaited } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { Heading, Link, Shown, Time, Way } from '../components/text.tsx';
import { useRead } from '../gate.ts';
import { go, linkTo } from '../route.ts';

const filters = { actor: 'By', id: 'Record' };

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
        <Choice label="Kind" none="Every kind" options={changedKinds} value={asked.kind ?? ''} onChoose={(kind) => show('kind', kind)} />
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
            The newest entry is {head.seq}, and its digest is <code>{head.digest}</code>.
          </>
        )}
        {entries?.length === 0 && ' No entries match.'}
      </p>
      <Table
        label="Changes"
        heads={['Entry', 'When', 'Who', 'What', 'Record']}
        rows={(entries ?? []).map((entry) => [
          <Link to={linkTo(['history', String(entry.seq)])} text={String(entry.seq)} />,
          <Time at={entry.at} />,
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
