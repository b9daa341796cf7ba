import { useEffect, useState } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { decide, denyAll, readApprovals } from '../../../registry/approvals/decide.ts';
import { operand, quote } from '../../../registry/shell-words.ts';
import type { Approval, ApprovalPage, Decided } from '../../../schemas/approvals/approvals.ts';
import { Act } from '../admin/act.tsx';
import { FormField } from '../components/field.tsx';
import { Awaited, EmptyState, Failure } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { Heading, Items, Link, Part, Shown, Time, Way } from '../components/text.tsx';
import { api, useRead, useWork } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import type { AdminSection } from '../section.ts';
import { useDraft } from '../store.ts';
import { approvals } from './section.ts';

export const approvalsView: AdminSection = {
  ...approvals,
  View: ({ path: [, id], query }) => (id === undefined ? <Approvals query={query} /> : <ApprovalView key={id} id={id} />),
};

const path = '/api/approvals';

/** Refresh interval of the inbox, in milliseconds. */
const refreshMs = 15_000;

const describePrices = ({ prices }: Approval): string => prices.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');

/** The calls that await the signed-in admin's approval, oldest first. */
function Approvals({ query }: { query: URLSearchParams }) {
  const reading = useRead<ApprovalPage>(path, Object.fromEntries(query), 'admin');
  const { answer, reload } = reading;
  useEffect(() => {
    const timer = setInterval(reload, refreshMs);
    return () => clearInterval(timer);
  }, [reload]);
  const { approvals = [] } = answer?.value ?? {};
  return (
    <>
      <Heading title="Approvals" />
      <Awaited reading={reading} rows={6} />
      {answer && approvals.length === 0 && <EmptyState title="No calls are waiting for your approval." />}
      <Table
        label="Approvals"
        heads={['Operation', 'Arguments', 'Agent', 'Price', 'Waiting since']}
        rows={approvals.map((approval) => [
          <Link to={linkTo(['approvals', approval.id])} text={approval.intent_name} />,
          describeArguments(approval.parameters),
          approval.agent_id,
          describePrices(approval),
          <Time at={approval.since} />,
        ])}
      />
      <Way to={answer?.next && linkTo(['approvals'], answer.next)} title="More" />
    </>
  );
}

const maxListed = 200;

/** The arguments as part of a sentence: `amount is 501, reason is "damaged"`. */
function describeArguments(parameters: Approval['parameters']): string {
  const text = Object.entries(parameters)
    .map(([name, value]) => `${name} is ${JSON.stringify(value)}`)
    .join(', ');
  return text.length > maxListed ? `${text.slice(0, maxListed)}…` : text;
}

/** A pending call in full, with the possible decisions. */
function ApprovalView({ id }: { id: string }) {
  const { answer, error, reload } = useWork(() => readApprovals(api));
  const approval = answer?.find((one) => one.id === id);
  const own = answer?.filter(({ agent_id }) => agent_id === approval?.agent_id).length ?? 0;
  const [decided, setDecided] = useState<Omit<Decided, 'id'>>();
  const [typed, setReason] = useDraft(`denial ${id}`, '');
  const reason = typed.trim() || undefined;

  const choose = (decision: Decided['decision']) => async () => {
    if (!approval) return;
    try {
      setDecided(await decide(api, approval, decision, decision === 'deny' ? reason : undefined));
    } catch (failure) {
      const details = failure instanceof Refusal ? (failure.details as Partial<Decided> & { reason?: string }) : {};
      if (details.reason !== 'decided' || !details.decided_by) throw failure;
      // somebody else has decided first
      setDecided(details as Decided);
    }
  };
  return (
    <article>
      <Way to={linkTo(['approvals'])} title="Approvals" />
      <Heading title={approval?.intent_name ?? 'Approval'} />
      <Failure error={error} retry={reload} />
      {answer && !approval && (
        <p role="status">No call with this id is waiting for your approval. It may already have been decided, or it has expired.</p>
      )}
      {decided && (
        <p class="notice" role="status">
          <Shown text={decided.decided_by} />{' '}
          {decided.decision === 'approve' ? 'approved this call: it will be made once' : 'denied this call: it will not be made'} (
          <Time at={decided.decided_at} />
          ).
        </p>
      )}
      {approval && <Facts approval={approval} />}
      {approval && !decided && (
        <>
          <Part title="Approve">
            <p>Exactly this call will be made, once.</p>
            <Act title="Approve" isDangerous command={`approvals approve ${id}`} act={choose('approve')} />
          </Part>
          <Part title="Deny">
            <FormField
              field={{ name: 'reason', label: 'Reason', type: 'string', hint: 'Shown to the agent' }}
              text={typed}
              onText={setReason}
            />
            <Act
              title="Deny"
              isDangerous
              command={`approvals deny ${id} --reason ${quote(reason ?? '…')}`}
              act={choose('deny')}
              onDone={() => setReason('')}
            />
            {own > 1 && (
              <Act
                title={`Deny all ${own} calls of this agent`}
                isDangerous
                command={`approvals deny --agent ${operand(approval.agent_id)} --reason ${quote(reason ?? '…')}`}
                act={async () => denyAll(api, await readApprovals(api, { agent_id: approval.agent_id }), reason)}
                onDone={() => go(linkTo(['approvals']))}
              />
            )}
          </Part>
        </>
      )}
    </article>
  );
}

/** A value in full, exactly as it will be sent: whoever approves a call has to see all of it. */
const Json = ({ value }: { value: object }) => (
  <pre>
    <Shown text={JSON.stringify(value, null, 2)} />
  </pre>
);

function Facts({ approval }: { approval: Approval }) {
  const { agent_id, key_thumbprint, intent_uid, service_name, calls_as, parameters, headers, rules, since, expires_at } = approval;
  const prices = describePrices(approval);
  return (
    <>
      <p>
        <Link to={linkTo(['agents', agent_id], { key: key_thumbprint ?? '' })} text={agent_id} /> asks to execute{' '}
        <Link to={linkTo(['intents', intent_uid])} text={intent_uid} /> of <Shown text={service_name} />. It has been waiting since{' '}
        <Time at={since} />, and expires at <Time at={expires_at} />.
      </p>
      {calls_as !== undefined && (
        <p>
          The service is called as the person <Shown text={calls_as} />.
        </p>
      )}
      {prices !== '' && <p>The policy charges {prices}.</p>}
      <Items title="These rules require approval:" texts={rules} />
      <Part title="Arguments">
        <Json value={parameters} />
      </Part>
      {headers && (
        <Part title="Header fields that the service adds">
          <Json value={headers} />
        </Part>
      )}
    </>
  );
}
