import { useState } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { compilePolicy } from '../../../functions/core/policy/compile.ts';
import { namePeriod } from '../../../functions/core/policy/durations.ts';
import { describePointer } from '../../../functions/core/policy/name-rules.ts';
import { operand, quote } from '../../../registry/shell-words.ts';
import { noAgentId } from '../../../schemas/agent.ts';
import { type Agent, type AgentPage, type AgentWithUsage, agentAddress, agentState } from '../../../schemas/agents/agents.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { Act } from '../admin/act.tsx';
import { Downloads } from '../admin/downloads.tsx';
import { Value } from '../answer.tsx';
import { SubmitForm } from '../components/controls.tsx';
import { Short } from '../components/copyable.tsx';
import { FormField } from '../components/field.tsx';
import { Fields } from '../components/fields.tsx';
import { EmptyState, Failure } from '../components/states.tsx';
import { type Column, ReadTable, Table } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Ago, Heading, Link, Part, Way } from '../components/text.tsx';
import { deployment } from '../deployment.ts';
import type { Field, Typed } from '../field-values.ts';
import { ask, readAll, useRead } from '../gate.ts';
import { nameMoney } from '../policy-terms.ts';
import { go, linkTo } from '../route.ts';
import { type AdminSection, useColumnsOf, useSectionsAbout } from '../section.ts';
import { useDraft } from '../store.ts';
import { agents } from './section.ts';

const path = '/api/agents';
const agentsOf = (page: AgentPage) => page.agents;

const stateNames: Record<Agent['state'], string> = { active: 'Active', pending: 'Pending', blocked: 'Blocked' };

export const agentsView: AdminSection = {
  ...agents,
  View: ({ path: [, id], query }) =>
    id === undefined ? (
      <Agents query={query} />
    ) : (
      <AgentView key={`${id} ${query.get('key')}`} id={id} thumbprint={query.get('key') ?? undefined} />
    ),
  useFigures() {
    const pending = useRead<AgentPage>('/api/agents', { state: 'pending', page_size: '100' }, 'admin').answer?.value.agents;
    return [{ title: 'Agents waiting for approval', value: pending?.length, to: linkTo(['agents'], { state: 'pending' }), isUrgent: true }];
  },
};

function Agents({ query }: { query: URLSearchParams }) {
  const state = agentState.safeParse(query.get('state')).data ?? 'active';
  const reading = useRead<AgentPage>(path, { page_size: '100', ...Object.fromEntries(query), state }, 'admin');
  const { answer, reload } = reading;
  const { agents: listed = [], displaced = 0 } = answer?.value ?? {};
  const added = useColumnsOf(({ agent_id }: Row) => agent_id, 'agents');
  const isEmpty = listed.length === 0 && answer?.next === undefined;
  return (
    <>
      <Heading title="Agents" />
      <Tabs label="State" tabs={stateNames} current={state} linkOf={(name) => linkTo(['agents'], { state: name })} />
      {displaced > 0 && (
        <p class="notice">
          The queue is full: newer requests have displaced {displaced} waiting {displaced === 1 ? 'agent' : 'agents'} since the queue was
          last cleared. They may ask again.
        </p>
      )}
      <ReadTable
        label="Agents"
        reading={reading}
        columns={columns.toSpliced(3, 0, ...added)}
        rows={listed}
        keyOf={({ agent_id, key_thumbprint }) => `${agent_id} ${key_thumbprint}`}
        textOf={({ agent_id, key_thumbprint }) => `${agent_id} ${key_thumbprint}`}
        empty={<EmptyState title={`No ${stateNames[state].toLowerCase()} agents`} />}
      />
      <Way to={answer?.next && linkTo(['agents'], answer.next)} title="More" />
      {!isEmpty && <Downloads name="agents" records={() => readAll(path, agentsOf, { query: { state }, isAdmin: true })} />}
      {state === 'pending' && !isEmpty && (
        <Act
          title="Clear the queue"
          isDangerous
          command="agents clear-waiting"
          act={() => ask('DELETE', '/api/agents', { query: { state }, isAdmin: true })}
          onDone={reload}
        />
      )}
      <LookUp />
    </>
  );
}

type Row = AgentPage['agents'][number];

const columns: readonly Column<Row>[] = [
  {
    head: 'Agent',
    cell: ({ agent_id, key_thumbprint, state }) => (
      <Link to={linkTo(['agents', agent_id], state === 'pending' ? { key: key_thumbprint ?? '' } : {})} text={agent_id} />
    ),
    sortBy: ({ agent_id }) => agent_id,
  },
  { head: 'Key', cell: ({ key_thumbprint }) => key_thumbprint && <Short text={key_thumbprint} label={`key ${key_thumbprint}`} /> },
  { head: 'Verified domain', cell: ({ agent_domain }) => agent_domain },
  { head: 'First seen', cell: ({ first_seen }) => first_seen && <Ago at={first_seen} />, sortBy: ({ first_seen }) => first_seen },
  { head: 'Last PAT', cell: ({ last_issue }) => last_issue && <Ago at={last_issue} />, sortBy: ({ last_issue }) => last_issue },
];

/** Opens an agent by id, key or both, even if it has never sent a request. */
function LookUp() {
  const [typed, setTyped] = useState<Typed>({});
  const [id = '', key = ''] = [typed.id?.trim(), typed.key?.trim()];
  return (
    <Part title="Find an agent">
      <p>By id, key or both, even before its first request.</p>
      <SubmitForm
        title="Look up"
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

function AgentView({ id: given, thumbprint }: { id: string; thumbprint: string | undefined }) {
  const id = given === noAgentId ? undefined : given;
  const { path, query } = agentAddress(id, thumbprint);
  const { answer, error, reload } = useRead<AgentWithUsage>(path, query, 'admin');
  const about = useSectionsAbout();
  const [reason, setReason] = useDraft(`reason ${given} ${thumbprint ?? ''}`, '');
  const named = [...(thumbprint === undefined ? [] : ['--key', thumbprint]), ...(id === undefined ? [] : [operand(id)])].join(' ');
  const post = (method: 'POST' | 'PUT' | 'DELETE', place: string, body?: object) => () =>
    ask(method, `${path}${place}`, { query, isAdmin: true, ...(body && { body }) });
  // an agent that was only blocked is also unknown once the block is lifted
  const isUnknown = error instanceof Refusal && error.status === 404;
  const agent = isUnknown ? undefined : answer?.value;
  const key = agent ? agent.key_thumbprint : thumbprint;
  const name = agent?.agent_id ?? id ?? thumbprint ?? '';
  return (
    <article>
      <Way to={linkTo(['agents'])} title="Agents" />
      <Heading title={name} />
      {isUnknown ? <p role="status">The gate has no record of this agent.</p> : <Failure error={error} retry={reload} />}
      {error instanceof Refusal && error.status === 409 && <Candidates id={given} thumbprint={thumbprint} details={error.details} />}
      {agent && (
        <>
          <p role="status">
            <span class={agent.state === 'active' ? 'badge good' : 'badge bad'}>{agent.state}</span>
          </p>
          <Value value={factsOf(agent)} label="Agent" />
          <Limits usage={agent.usage} />
          {about.map(({ path, About }) => (
            <About key={path} kind="agent" id={agent.agent_id} />
          ))}
        </>
      )}
      {(agent?.state === 'pending' || (isUnknown && id !== undefined && key !== undefined)) && (
        <Act
          title="Approve the agent"
          command={`agents approve ${named}`}
          act={post('POST', '/approve', { key_thumbprint: key })}
          onDone={reload}
        />
      )}
      {agent?.state === 'pending' && agent.agent_domain !== undefined && (
        <Act
          title={`Approve all agents of ${agent.agent_domain}`}
          command={`agents approve-domain ${agent.agent_domain}`}
          act={() => ask('PUT', `/api/agent-domains/${agent.agent_domain}`, { isAdmin: true })}
          onDone={reload}
        />
      )}
      {agent?.state === 'blocked' && (
        <Act title="Unblock" command={`agents unblock ${named}`} act={post('DELETE', '/block')} onDone={reload} />
      )}
      {(isUnknown || (agent && agent.state !== 'blocked')) && (
        <Part title="Block the agent">
          <p>Blocks this id and key until an admin unblocks them.</p>
          <FormField
            field={{ name: 'reason', label: 'Reason', type: 'string', required: true, hint: 'Shown to admins only' }}
            text={reason}
            onText={setReason}
          />
          <Act
            title="Block the agent"
            isDangerous
            isDisabled={reason.trim() === ''}
            command={`agents block --reason ${quote(reason.trim() || '…')} ${named}`}
            act={post('PUT', '/block', { reason: reason.trim() })}
            onDone={() => {
              setReason('');
              reload();
            }}
          />
        </Part>
      )}
      {agent && agent.state !== 'pending' && (
        <Part title="Revoke PATs">
          <p>The agent can request new ones.</p>
          <Act title="Revoke" isDangerous command={`agents revoke ${named}`} act={post('POST', '/revoke')} onDone={reload} />
        </Part>
      )}
      {agent && <Way to={linkTo(['history'], { id: agent.agent_id })} title="History of the agent" />}
    </article>
  );
}

/** An agent's usage of the policy's limits and budgets, each with its rule. */
function Limits({ usage }: Pick<AgentWithUsage, 'usage'>) {
  const policy = useRead<Policy>('/api/policy').answer?.value;
  if (usage.length === 0) return null;
  const { rules = [] } = policy ? compilePolicy(policy, deployment.publicUrl) : {};
  return (
    <Part title="Limits">
      <Table
        label="Limits of the agent"
        heads={['Rule', 'Used', 'Left', 'Of']}
        numbers={['Used', 'Left', 'Of']}
        rows={usage.map(({ limit, rule, used, left, of, period, unit }) => {
          const [usedText, leftText, ofText] = [used, left, of].map((some) => (unit ? nameMoney(Number(some), unit) : some));
          const whole = `${ofText} ${period === undefined ? 'in total' : `per ${namePeriod(period)}`}`;
          return [policy && rule !== undefined ? describePointer(rules, rule) : limit, usedText, leftText, whole];
        })}
      />
    </Part>
  );
}

/** Links to the candidates, if an id has several keys or a key several ids. */
function Candidates({ id, thumbprint = '', details }: Pick<Refusal, 'details'> & { id: string; thumbprint: string | undefined }) {
  const listOf = (name: string) => (Array.isArray(details[name]) ? details[name].map(String) : []);
  const candidates = [
    ...listOf('key_thumbprints').map((key) => ({ text: key, to: linkTo(['agents', id], { key }) })),
    ...listOf('agent_ids').map((name) => ({ text: name, to: linkTo(['agents', name], { key: thumbprint }) })),
  ];
  return (
    <ul>
      {candidates.map(({ text, to }) => (
        <li key={text}>
          <Link to={to} text={text} />
        </li>
      ))}
    </ul>
  );
}

const maybeTime = (at: string | undefined) => at && new Date(at).toLocaleString();

const factsOf = ({ key_thumbprint, agent_domain, first_seen, last_issue, revoked_at, proof_required, block }: Agent) =>
  Object.fromEntries(
    Object.entries({
      Key: key_thumbprint,
      'Verified domain': agent_domain,
      'First seen': maybeTime(first_seen),
      'Last PAT': maybeTime(last_issue),
      'PATs revoked': maybeTime(revoked_at),
      'Proof of possession': proof_required && 'required',
      Blocked: maybeTime(block?.blocked_at),
      Reason: block?.reason,
    }).filter(([, value]) => value !== undefined),
  );
