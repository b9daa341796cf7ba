import { Refusal } from '../../../../client/errors.ts';
import { type Agent, agentAddress, agentState, noAgentId } from '../../../../schemas/agent.ts';
import { Value } from '../answer.tsx';
import { operand, quote } from '../code-samples.ts';
import { ask, useRead } from '../gate.ts';
import { Failure, Heading, Part, Shown, Table, Time, Way } from '../parts.tsx';
import { go, linkTo } from '../route.ts';
import { useDraft } from '../store.ts';
import type { AgentPage } from '../wire.ts';
import { Act } from './act.tsx';
import { Command } from './record-form.tsx';

const stateNames: Record<Agent['state'], string> = { active: 'active', pending: 'wait for approval', blocked: 'blocked' };

/** The agents of one state, and a way to those that are in no list. */
export function Agents({ query }: { query: URLSearchParams }) {
  const state = agentState.safeParse(query.get('state')).data ?? 'active';
  const { answer, error, reload } = useRead<AgentPage>('/api/agents', { page_size: '50', ...Object.fromEntries(query), state }, 'admin');
  const { agents = [], displaced = 0 } = answer?.value ?? {};
  const isEmpty = agents.length === 0 && answer?.next === undefined;
  return (
    <>
      <Heading title="Agents" />
      <nav class="tags" aria-label="State">
        {agentState.options.map((option) => (
          <a key={option} class="tag" href={linkTo(['agents'], { state: option })} aria-current={option === state ? 'page' : undefined}>
            {stateNames[option]}
          </a>
        ))}
      </nav>
      <Failure error={error} retry={reload} />
      {answer && isEmpty && <p>None.</p>}
      {displaced > 0 && (
        <p class="notice">
          {displaced === 1 ? '1 agent that waited has' : `${displaced} agents that waited have`} had to make room for others since the last
          time that every request was removed. They may ask again.
        </p>
      )}
      <Table
        label="Agents"
        heads={['Agent', 'Key', 'First seen', 'Last PAT']}
        rows={agents.map(({ agent_id, key_thumbprint, first_seen, last_issue }) => [
          <a href={linkTo(['agents', agent_id], state === 'pending' ? { key: key_thumbprint ?? '' } : {})}>
            <Shown text={agent_id} />
          </a>,
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

/** Leads to an agent by its id, its key or both, whether or not it has asked for anything. */
const LookUp = () => (
  <Part title="Look one up">
    <p>By its id, its key or both: also to block or approve one that has not asked for anything yet.</p>
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget);
        const [id = '', key = ''] = ['id', 'key'].map((name) => String(typed.get(name)).trim());
        if (id !== '' || key !== '') go(linkTo(['agents', id || noAgentId], { key }));
      }}
    >
      <div class="search">
        <label for="agent-id">Agent</label>
        <input id="agent-id" name="id" type="text" autocomplete="off" placeholder="its agent_id" />
        <label for="agent-key">Key</label>
        <input id="agent-key" name="key" type="text" autocomplete="off" placeholder="its RFC 7638 thumbprint" />
      </div>
      <p class="buttons">
        <button type="submit">Look it up</button>
      </p>
    </form>
  </Part>
);

/** One agent: its key, its state, what it has used, and what can be done about it. */
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
      {isUnknown ? <p role="status">No agent of this name has asked for anything yet.</p> : <Failure error={error} retry={reload} />}
      {error instanceof Refusal && error.status === 409 && <Meant id={id} thumbprint={thumbprint} refusal={error} />}
      {agent && (
        <>
          <p role="status">
            <span class={agent.state === 'active' ? 'badge good' : 'badge bad'}>{agent.state}</span>
          </p>
          <Facts agent={agent} />
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
        <Part title="Block it">
          <p>Its id and its key are kept out until somebody lifts the block. Once it is blocked, not one more call is admitted.</p>
          <div class="field">
            <label for="reason">Reason</label>
            <input id="reason" type="text" value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
            <p class="hint">For admins; the agent is not told.</p>
          </div>
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
        <Part title="Revoke its PATs">
          <p>It may get new ones.</p>
          <Act
            title="Revoke"
            isDangerous
            command={`npx intent-gate agents revoke ${named}`}
            act={post('POST', '/revoke')}
            onDone={reload}
          />
        </Part>
      )}
      {agent && <Way to={linkTo(['history'], { id: agent.agent_id })} title="What admins have done about it" />}
    </article>
  );
}

/** Those that may be meant, if an id has several keys or a key several ids. */
function Meant({ id, thumbprint, refusal: { details } }: { id: string | undefined; thumbprint: string | undefined; refusal: Refusal }) {
  const listOf = (name: string) => (Array.isArray(details[name]) ? details[name].map(String) : []);
  const links = [
    ...listOf('key_thumbprints').map((key) => ({ name: key, link: linkTo(['agents', id ?? noAgentId], { key }) })),
    ...listOf('agent_ids').map((name) => ({ name, link: linkTo(['agents', name], { key: thumbprint ?? '' }) })),
  ];
  return (
    <ul>
      {links.map(({ name, link }) => (
        <li key={name}>
          <a href={link}>
            <Shown text={name} />
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Whatever the gate tells of an agent, also its use of limits if it tells that. */
function Facts({ agent }: { agent: Agent }) {
  const { agent_id: _, state: __, block, ...others } = agent;
  const facts = { ...others, ...(block && { blocked_at: block.blocked_at, blocked_because: block.reason }) };
  return (
    <dl class="members">
      {Object.entries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name.replaceAll('_', ' ')}</dt>
          <dd>
            <Value value={value} label={name.replaceAll('_', ' ')} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
