import type * as z from 'zod';
import type { connectionList } from '../../../schemas/connections/connections.ts';
import { Act } from '../admin/act.tsx';
import { SignIn } from '../components/controls.tsx';
import { Awaited, EmptyState } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { Badge, Heading, Link, Shown, Time } from '../components/text.tsx';
import { deployment } from '../deployment.ts';
import { ask, useRead } from '../gate.ts';
import type { Section } from '../section.ts';
import { session } from '../session.ts';
import { useStore } from '../store.ts';

type List = z.infer<typeof connectionList>;

export const connections: Section = { path: 'connections', title: 'Connections', View: Connections };

/** The services that agents call as the signed-in person. */
function Connections() {
  const current = useStore(session);
  return (
    <>
      <Heading title="Connections" />
      <p class="lead">Services that agents can call as you. Disconnect those that you no longer want.</p>
      {current ? (
        <Own key={current.userName} />
      ) : deployment.signIn ? (
        <p>
          <SignIn title="Sign in to see your connections" kind="main" />
        </p>
      ) : (
        <p>Nobody can sign in here. Use the command line: npx intent-gate connections list.</p>
      )}
    </>
  );
}

function Own() {
  const reading = useRead<List>('/api/connections', {}, 'admin');
  const { answer, reload } = reading;
  const found = answer?.value.connections ?? [];
  return (
    <>
      <Awaited reading={reading} rows={3} />
      {answer && found.length === 0 && (
        <EmptyState title="No connections yet">
          When an agent needs your account at a service, it shows you a link to connect it.
        </EmptyState>
      )}
      <Table
        label="Connections"
        heads={['Service', 'Since', 'Scopes', 'State', 'Action']}
        rows={found.map(({ service_id, service_name = service_id, scopes, state, connected_at, failure, url }) => [
          <Link to={url} text={service_name} />,
          <Time at={connected_at} />,
          scopes.join(', '),
          state === 'connected' ? (
            <Badge tone="good">connected</Badge>
          ) : (
            <>
              <Badge tone="bad">connect again</Badge> <Shown text={failure?.description ?? failure?.error ?? ''} />
            </>
          ),
          <Act
            title="Disconnect"
            isDangerous
            question={`Disconnect from ${service_name}?`}
            command={`connections end ${service_id}`}
            act={() => ask('DELETE', `/api/connections/${encodeURIComponent(service_id)}`, { isAdmin: true })}
            onDone={reload}
          />,
        ])}
      />
    </>
  );
}
