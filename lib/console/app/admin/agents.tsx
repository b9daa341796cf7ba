import { type Agent, agentAddress, agentState } from '../../../../schemas/agent.ts';
import { Value } from '../answer.tsx';
import { operand, quote } from '../code-samples.ts';
import { ask, useRead } from '../gate.ts';
import { Failure, Heading, Scrolled, Shown, Time } from '../parts.tsx';
import { linkTo } from '../route.ts';
import { useDraft } from '../store.ts';
import type { AgentPage } from '../wire.ts';
import { Act } from './act.tsx';
import { Command } from './record-form.tsx';

const stateNames: Record<Agent['state'], string> = { active: 'active', pending: 'wait for approval', blocked: 'blocked' };

/** The agents of one state. */
export function Agents({ query }: { query: URLSearchParams }) {
  const state = agentState.safeParse(query.get('state')).data ?? 'active';
  const { answer, error, reload } = useRead<AgentPage>('/api/agents', { page_size: '50', ...Object.fromEntries(query), state }, 'admin');
  const { agents = [] } = answer?.value ?? {};
  return (
    <>
      <Heading title="Agents">Agents</Heading>
      <nav class="tags" aria-label="State">
        {agentState.options.map((option) => (
          <a key={option} class="tag" href={linkTo(['agents'], { state: option })} aria-current={option === state ? 'page' : undefined}>
            {stateNames[option]}
          </a>
        ))}
      </nav>
      <Failure error={error} retry={reload} />
      {answer && agents.length === 0 && <p>None.</p>}
      <Scrolled label="Agents">
        <table>
          <thead>
            <tr>
              <th scope="col">Agent</th>
              <th scope="col">Key</th>
              <th scope="col">First seen</th>
              <th scope="col">Last PAT</th>
            </tr>
          </thead>
          <tbody>
            {agents.map(({ agent_id, key_thumbprint, first_seen, last_issue }) => (
              <tr key={`${agent_id} ${key_thumbprint}`}>
                <th scope="row">
                  <a href={linkTo(['agents', agent_id], state === 'pending' ? { key: key_thumbprint ?? '' } : {})}>
                    <Shown text={agent_id} />
                  </a>
                </th>
                <td>
                  <code>{key_thumbprint}</code>
                </td>
                <td>{first_seen && <Time at={first_seen} />}</td>
                <td>{last_issue && <Time at={last_issue} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {answer?.next && (
        <p>
          <a href={linkTo(['agents'], answer.next)}>More</a>
        </p>
      )}
      {state === 'pending' && agents.length > 0 && (
        <Act
          title="Remove every request"
          isDangerous
          command="npx intent-gate agents clear-waiting"
          act={async () => void (await ask('DELETE', '/api/agents', { query: { state }, as: 'admin' }))}
          onDone={reload}
        />
      )}
      <Command text={`npx intent-gate agents list --state ${state}`} />
    </>
  );
}

/** One agent: its key, its state, what it has used, and what can be done about it. */
export function AgentView({ id, thumbprint }: { id: string; thumbprint: string | undefined }) {
  const { path, query } = agentAddress(id, thumbprint);
  const { answer, error, reload } = useRead<Agent>(path, query, 'admin');
  const [reason, setReason] = useDraft(`reason ${id}`, '');
  const named = `${thumbprint === undefined ? '' : `--key ${thumbprint} `}${operand(id)}`;
  const post = (method: 'POST' | 'PUT' | 'DELETE', place: string, body?: object) => async () =>
    void (await ask(method, `${path}${place}`, { query, as: 'admin', ...(body && { body }) }));
  const agent = answer?.value;
  return (
    <article>
      <p>
        <a href={linkTo(['agents'])}>Agents</a>
      </p>
      <Heading title={id}>
        <Shown text={id} />
      </Heading>
      <Failure error={error} retry={reload} />
      {agent && (
        <>
          <p role="status">
            <span class={agent.state === 'active' ? 'badge good' : 'badge bad'}>{agent.state}</span>
          </p>
          <Facts agent={agent} />
          {agent.state === 'pending' && (
            <Act
              title="Approve it"
              command={`npx intent-gate agents approve ${named}`}
              act={post('POST', '/approve', { key_thumbprint: agent.key_thumbprint })}
              onDone={reload}
            />
          )}
          {agent.state === 'blocked' ? (
            <Act
              title="Lift the block"
              command={`npx intent-gate agents unblock ${named}`}
              act={post('DELETE', '/block')}
              onDone={reload}
            />
          ) : (
            <section aria-labelledby="block-title">
              <h2 id="block-title">Block it</h2>
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
            </section>
          )}
          {agent.state !== 'pending' && (
            <section aria-labelledby="revoke-title">
              <h2 id="revoke-title">Revoke its PATs</h2>
              <p>It may get new ones.</p>
              <Act
                title="Revoke"
                isDangerous
                command={`npx intent-gate agents revoke ${named}`}
                act={post('POST', '/revoke')}
                onDone={reload}
              />
            </section>
          )}
          <p>
            <a href={linkTo(['history'], { id })}>What admins have done about it</a>
          </p>
        </>
      )}
    </article>
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
