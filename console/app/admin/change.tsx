import type { Difference } from '../../../registry/differences.ts';
import { compareVersions, findObstacle, undoChange } from '../../../registry/undo.ts';
import type { ChangeDetails } from '../../../schemas/changes.ts';
import { Awaited } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { Heading, Part, Shown, Time, Way } from '../components/text.tsx';
import { showToast } from '../components/toast.tsx';
import { useRead } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import { Act } from './act.tsx';
import { openAdminApi } from './admin-api.ts';

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
