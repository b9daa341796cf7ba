import { useState } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { operand, quote } from '../../../registry/shell-words.ts';
import { type Agent, agentAddress, agentState, noAgentId } from '../../../schemas/agent.ts';
import { Value } from '../answer.tsx';
import { SubmitForm } from '../components/button.tsx';
import { Failure } from '../components/failure.tsx';
import { Fields, FormField } from '../components/field.tsx';
import { Heading, Part } from '../components/heading.tsx';
import { Table } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Link, Time, Way } from '../components/text.tsx';
import type { Field, Typed } from '../field-values.ts';
import { ask, useRead } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import { useDraft } from '../store.ts';
import type { AgentPage } from '../wire.ts';
import { Act } from './act.tsx';
import { Command } from './record-form.tsx';

const stateNames: Record<Agent['state'], string> = { active: 'active', pending: 'waiting for approval', blocked: 'blocked' };

export function Agents({ query }: { query: URLSearchParams }) {
  const state = agentState.safeParse(query.get('state')).data ?? 'active';
  const { answer, error, reload } = useRead<AgentPage>('/api/agents', { page_size: '50', ...Object.fromEntries(query), state }, 'admin');
  const { agents = [], displaced = 0 } = answer?.value ?? {};
  const isEmpty = agents.length === 0 && answer?.next === undefined;
  return (
    <>
      <Heading title="Agents" />
      <Tabs label="State" tabs={tabs} current={stateNames[state]} />
      <Failure error={error} retry={reload} />
      {answer && isEmpty && <p>None.</p>}
      {displaced > 0 && (
        <p class="notice">
          The queue is full: newer requests have displaced {displaced} waiting {displaced === 1 ? 'agent' : 'agents'} since the queue was
          last cleared. They may ask again.
        </p>
      )}
      <Table
        label="Agents"
        heads={['Agent', 'Key', 'First seen', 'Last PAT']}
        rows={agents.map(({ agent_id, key_thumbprint, first_seen, last_issue }) => [
          <Link to={linkTo(['agents', agent_id], state === 'pending' ? { key: key_thumbprint ?? '' } : {})} text={agent_id} />,
          <code>{key_thumbprint}</code>,
          first_seen && <Time at={first_seen} />,
          last_issue && <Time at={last_issue} />,
        ])}
      />
      <Way to={answer?.next && linkTo(['agents'], answer.next)} title="More" />
      {state === 'pending' && !isEmpty && (
        <Act
          title="Remove every request"
          isDangerous
          command="npx intent-gate agents clear-waiting"
          act={() => ask('DELETE', '/api/agents', { query: { state }, as: 'admin' })}
          onDone={reload}
        />
      )}
      <Command text={`npx intent-gate agents list --state ${state}`} />
      <LookUp />
    </>
  );
}

const tabs = Object.fromEntries(agentState.options.map((option) => [stateNames[option], linkTo(['agents'], { state: option })]));

/** Leads to an agent by its id, its key or both, whether or not it has asked for anything. */
function LookUp() {
  const [typed, setTyped] = useState<Typed>({});
  const [id = '', key = ''] = [typed.id?.trim(), typed.key?.trim()];
  return (
    <Part title="Find an agent">
      <p>By id, key or both. You can also block or approve an agent that has not sent any request yet.</p>
      <SubmitForm
        title="Look it up"
        isBusy={false}
        isDisabled={id === '' && key === ''}
        onSubmit={() => go(linkTo(['agents', id || noAgentId], { key }))}
      >
        <Fields fields={lookUpFields} typed={typed} issues={[]} onTyped={setTyped} />
      </SubmitForm>
    </Part>
  );
}

const lookUpFields: Field[] = [
  { name: 'id', label: 'Agent', type: 'string', hint: 'Its agent_id' },
  { name: 'key', label: 'Key', type: 'string', hint: 'Its RFC 7638 thumbprint' },
];

export function AgentView({ id: given, thumbprint }: { id: string; thumbprint: string | undefined }) {
  const id = given === noAgentId ? undefined : given;
  const { path, query } = agentAddress(id, thumbprint);
  const { answer, error, reload } = useRead<Agent>(path, query, 'admin');
  const [reason, setReason] = useDraft(`reason ${given} ${thumbprint ?? ''}`, '');
  const named = [...(thumbprint === undefined ? [] : ['--key', thumbprint]), ...(id === undefined ? [] : [operand(id)])].join(' ');
  const post = (method: 'POST' | 'PUT' | 'DELETE', place: string, body?: object) => () =>
    ask(method, `${path}${place}`, { query, as: 'admin', ...(body && { body }) });
  // also one that was only blocked is unknown once the block is lifted
  const isUnknown = error instanceof Refusal && error.status === 404;
  const agent = isUnknown ? undefined : answer?.value;
  const key = agent ? agent.key_thumbprint : thumbprint;
  const name = agent?.agent_id ?? id ?? thumbprint ?? '';
  return (
    <article>
      <Way to={linkTo(['agents'])} title="Agents" />
      <Heading title={name} />
      {isUnknown ? <p role="status">The gate has no record of this agent.</p> : <Failure error={error} retry={reload} />}
      {error instanceof Refusal && error.status === 409 && <Meant id={id} thumbprint={thumbprint} refusal={error} />}
      {agent && (
        <>
          <p role="status">
            <span class={agent.state === 'active' ? 'badge good' : 'badge bad'}>{agent.state}</span>
          </p>
          <Value value={factsOf(agent)} label="Agent" />
        </>
      )}
      {(agent?.state === 'pending' || (isUnknown && id !== undefined && key !== undefined)) && (
        <Act
          title="Approve it"
          command={`npx intent-gate agents approve ${named}`}
          act={post('POST', '/approve', { key_thumbprint: key })}
          onDone={reload}
        />
      )}
      {agent?.state === 'blocked' && (
        <Act title="Lift the block" command={`npx intent-gate agents unblock ${named}`} act={post('DELETE', '/block')} onDone={reload} />
      )}
      {(isUnknown || (agent && agent.state !== 'blocked')) && (
        <Part title="Block the agent">
          <p>A block covers the id and the key of the agent until somebody lifts it. No further call is admitted.</p>
          <FormField
            field={{ name: 'reason', label: 'Reason', type: 'string', hint: 'Shown to admins only' }}
            text={reason}
            onText={setReason}
          />
          <Act
            title="Block the agent"
            isDangerous
            command={`npx intent-gate agents block --reason ${quote(reason || '…')} ${named}`}
            act={post('PUT', '/block', { reason })}
            onDone={() => {
              setReason('');
              reload();
            }}
          />
        </Part>
      )}
      {agent && agent.state !== 'pending' && (
        <Part title="Revoke PATs">
          <p>The agent may get new ones.</p>
          <Act
            title="Revoke"
            isDangerous
            command={`npx intent-gate agents revoke ${named}`}
            act={post('POST', '/revoke')}
            onDone={reload}
          />
        </Part>
      )}
      {agent && <Way to={linkTo(['history'], { id: agent.agent_id })} title="History of the agent" />}
    </article>
  );
}

/** The candidates, if an id has several keys or a key several ids. */
function Meant({ id, thumbprint, refusal: { details } }: { id: string | undefined; thumbprint: string | undefined; refusal: Refusal }) {
  const listOf = (name: string) => (Array.isArray(details[name]) ? details[name].map(String) : []);
  return (
    <ul>
      {listOf('key_thumbprints').map((key) => (
        <li key={key}>
          <Link to={linkTo(['agents', id ?? noAgentId], { key })} text={key} />
        </li>
      ))}
      {listOf('agent_ids').map((name) => (
        <li key={name}>
          <Link to={linkTo(['agents', name], { key: thumbprint ?? '' })} text={name} />
        </li>
      ))}
    </ul>
  );
}

const factsOf = ({ agent_id: _, state: __, block, ...others }: Agent) => ({
  ...others,
  ...(block && { blocked_at: block.blocked_at, blocked_because: block.reason }),
});
