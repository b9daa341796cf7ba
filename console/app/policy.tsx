import type { PolicyWords } from '../../schemas/policy.ts';
import { Awaited } from './components/states.tsx';
import { Heading, Items } from './components/text.tsx';
import { useRead } from './gate.ts';
import { session } from './session.ts';
import { ForAdmins } from './signed-in.tsx';
import { useStore } from './store.ts';

/** The policy in words; for admins, its rules in a table, and an editor. */
export function PolicyView({ query }: { query: URLSearchParams }) {
  const isAdmin = useStore(session)?.isAdmin;
  return (
    <>
      <Heading title="Usage policy" />
      <p class="lead">
        Agents sign the <a href="api/policy">policy</a> before their first call, and again after each change.
      </p>
      {isAdmin ? <ForAdmins path={['policy']} query={query} /> : <Sentences />}
    </>
  );
}

function Sentences() {
  const reading = useRead<PolicyWords>('/api/policy', { view: 'words' });
  return (
    <>
      <Awaited reading={reading} />
      <Items texts={reading.answer?.value.sentences ?? []} />
    </>
  );
}
