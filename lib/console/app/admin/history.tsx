import { changedKinds } from '../../../../schemas/changes.ts';
import { quote } from '../code-samples.ts';
import { useRead } from '../gate.ts';
import { Failure, Heading, Scrolled, Shown, Time } from '../parts.tsx';
import { go, linkTo } from '../route.ts';
import type { ChangePage } from '../wire.ts';
import { Command } from './record-form.tsx';

const filters = ['kind', 'id', 'actor'] as const;

/** Who changed what, newest first. */
export function History({ query }: { query: URLSearchParams }) {
  const asked = Object.fromEntries(query);
  const { answer, error, reload } = useRead<ChangePage>('/api/changes', { page_size: '50', ...asked }, 'admin');
  const show = (name: string, value: string) => {
    const { after: _, ...others } = asked;
    go(linkTo(['history'], { ...others, [name]: value }), { isReplacing: true });
  };
  const options = filters.flatMap((name) => (asked[name] ? [`--${name} ${quote(asked[name])}`] : []));
  return (
    <>
      <Heading title="History">Who changed what</Heading>
      <div class="search">
        <label for="kind">Kind</label>
        <select id="kind" value={asked.kind ?? ''} onChange={({ currentTarget }) => show('kind', currentTarget.value)}>
          <option value="">every kind</option>
          {changedKinds.map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </select>
        <label for="actor">By</label>
        <input id="actor" type="text" value={asked.actor ?? ''} onChange={({ currentTarget }) => show('actor', currentTarget.value)} />
        <label for="id">Record</label>
        <input id="id" type="text" value={asked.id ?? ''} onChange={({ currentTarget }) => show('id', currentTarget.value)} />
      </div>
      <Failure error={error} retry={reload} />
      <Scrolled label="Changes">
        <table>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">What</th>
              <th scope="col">Record</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {answer?.value.changes.map(({ rev, changed_at, actor, action, kind, id, outcome }) => (
              <tr key={rev}>
                <td>
                  <Time at={changed_at} />
                </td>
                <td>
                  <Shown text={actor.user_name ?? actor.client_id ?? actor.subject} />
                </td>
                <td>
                  {action} {kind}
                </td>
                <td>
                  <Shown text={id} />
                </td>
                <td>{outcome.replace('_', ' ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {answer?.next && (
        <p>
          <a href={linkTo(['history'], answer.next)}>Older</a>
        </p>
      )}
      <Command text={['npx intent-gate changes', ...options].join(' ')} />
    </>
  );
}
