import { useEffect, useRef, useState } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { decide, denyAll, readApprovals } from '../../../registry/approvals/decide.ts';
import { operand, quote } from '../../../registry/shell-words.ts';
import type { Approval, ApprovalPage, Decided } from '../../../schemas/approvals/approvals.ts';
import { Act, Confirm } from '../admin/act.tsx';
import { Button, SearchBox } from '../components/controls.tsx';
import { Command } from '../components/copyable.tsx';
import { Dialog } from '../components/dialog.tsx';
import { FormField } from '../components/field.tsx';
import { Awaited, EmptyState } from '../components/states.tsx';
import { ReadTable } from '../components/table.tsx';
import { Badge, Heading, Items, Link, Part, Shown, Time, Way } from '../components/text.tsx';
import { api, ask, gateNow, useRead, useWhileVisible, useWork } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import type { AdminSection } from '../section.ts';
import { useDraft } from '../store.ts';
import { approvals, waiting } from './section.ts';

export const approvalsView: AdminSection = {
  ...approvals,
  View: ({ path: [, id], query }) => <Approvals id={id} query={query} />,
  useFigures() {
    const { value } = useRead<ApprovalPage>(path, { page_size: '1' }, 'admin').answer ?? {};
    return [{ title: 'Calls waiting for approval', value: value?.waiting, to: linkTo(['approvals']), isUrgent: true }];
  },
};

const path = '/api/approvals';

/** Refresh interval of the inbox, in milliseconds. */
const refreshMs = 15_000;

const describePrices = ({ prices }: Approval): string => prices.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');

/** A decision that an admin is about to confirm. */
interface Asked {
  approval: Approval;
  decision: Decided['decision'];
}

type Made = Decided & { approval: Approval; isOwn: boolean };

/** The calls that await the signed-in admin's approval, oldest first; with an id, that call in a panel at the side. */
function Approvals({ id, query }: { id: string | undefined; query: URLSearchParams }) {
  const asked = Object.fromEntries(query);
  const { agent_id = '' } = asked;
  const reading = useRead<ApprovalPage>(path, asked, 'admin');
  const { answer, reload } = reading;
  useWhileVisible(reload, refreshMs);
  const { approvals: listed = [], waiting: count = 0 } = answer?.value ?? {};
  useEffect(() => {
    if (answer && agent_id === '') waiting.set(count);
  }, [answer]);
  const [confirmed, setConfirmed] = useState<Asked>();
  const [made, setMade] = useState<Made>();
  const close = () => go(linkTo(['approvals'], asked), { isReplacing: true });
  return (
    <>
      <Heading title="Approvals" />
      {made && <Result key={made.id} made={made} isCovered={id !== undefined} />}
      <div class="toolbar">
        <SearchBox
          label="Agent"
          value={agent_id}
          onChange={({ currentTarget }) => go(linkTo(['approvals'], { agent_id: currentTarget.value.trim() }), { isReplacing: true })}
        />
        {answer && listed.length > 0 && (
          <span class="quiet">
            {listed.length} of {count} {count === 1 ? 'call' : 'calls'}
          </span>
        )}
      </div>
      <ReadTable
        label="Approvals"
        reading={reading}
        rows={listed}
        keyOf={(approval) => approval.id}
        empty={
          <EmptyState title="No calls are waiting for your approval.">
            <p>Calls wait here if the policy has a permission with the duty "approve".</p>
          </EmptyState>
        }
        columns={[
          {
            head: 'Operation',
            cell: (approval) => <Link to={linkTo(['approvals', approval.id], asked)} text={approval.intent_name} />,
          },
          { head: 'Arguments', cell: ({ parameters }) => describeArguments(parameters) },
          {
            head: 'Agent',
            cell: (approval) => <Link to={linkTo(['approvals'], { agent_id: approval.agent_id })} text={approval.agent_id} />,
          },
          { head: 'Price', cell: describePrices },
          { head: 'Expires', cell: (approval) => <Expiry at={approval.expires_at} /> },
          { head: 'Decision', cell: (approval) => <Decisions approval={approval} onChoose={setConfirmed} /> },
        ]}
      />
      <Way to={answer?.next && linkTo(['approvals'], answer.next)} title="More" />
      {agent_id !== '' && listed.length > 1 && <DenyAll agentId={agent_id} count={count} onDone={reload} />}
      {id !== undefined && (
        <Panel key={id} id={id} listed={listed.find((approval) => approval.id === id)} onChoose={setConfirmed} onClose={close} />
      )}
      {confirmed && (
        <Decision
          {...confirmed}
          onClose={() => setConfirmed(undefined)}
          onMade={(decided) => {
            setMade(decided);
            reload();
            if (id !== undefined) close();
          }}
        />
      )}
    </>
  );
}

/** What has become of a call. It gets the focus, because the button that led to it is gone. */
function Result({ made: { decided_by, decision, decided_at, isOwn, approval }, isCovered }: { made: Made; isCovered: boolean }) {
  const message = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (!isCovered) message.current?.focus();
  }, [isCovered]);
  return (
    <p class="notice" role="status" tabIndex={-1} ref={message}>
      {!isOwn && 'You were not the first to decide. '}
      <Shown text={decided_by} /> {decision === 'approve' ? 'approved' : 'denied'} this call of <Shown text={approval.agent_id} />:{' '}
      <Shown text={approval.intent_name} />. It will {decision === 'approve' ? 'be made once' : 'not be made'}. <Time at={decided_at} />
    </p>
  );
}

/** How long a call still waits. It is computed from the clock, so that it is right after the computer has slept. */
function Expiry({ at }: { at: string }) {
  const [nowMs, setNow] = useState(gateNow());
  useWhileVisible(() => setNow(gateNow()), 1_000);
  const seconds = Math.floor((Date.parse(at) - nowMs) / 1_000);
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  const left = minutes < 1 ? `${seconds} s` : hours < 1 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
  return seconds < 0 ? (
    <Badge tone="bad">expired</Badge>
  ) : (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {minutes < 5 ? <Badge tone="warn">in {left}</Badge> : `in ${left}`}
    </time>
  );
}

interface DecisionsProps {
  approval: Approval;
  onChoose(asked: Asked): void;
}

const Decisions = ({ approval, onChoose }: DecisionsProps) => (
  <p class="buttons">
    {(['approve', 'deny'] as const).map((decision) => (
      <Button
        key={decision}
        title={titles[decision]}
        label={`${titles[decision]} ${approval.intent_name} for ${approval.agent_id}`}
        kind="plain"
        onClick={() => onChoose({ approval, decision })}
      />
    ))}
  </p>
);

const reasonField = { name: 'reason', label: 'Reason', type: 'string', hint: 'Shown to the agent' } as const;

const titles = { approve: 'Approve', deny: 'Deny' };

/** The dialog that confirms a decision about a call, which it shows as it will be sent. */
function Decision({ approval, decision, onMade, onClose }: Asked & { onMade(made: Made): void; onClose(): void }) {
  const { id, agent_id, intent_name } = approval;
  const [typed, setReason] = useDraft(`denial ${id}`, '');
  const reason = (decision === 'deny' && typed.trim()) || undefined;
  const act = async () => {
    try {
      onMade({ ...(await decide(api, approval, decision, reason)), approval, isOwn: true });
    } catch (failure) {
      const details = failure instanceof Refusal ? (failure.details as Partial<Decided> & { reason?: string }) : {};
      if (details.reason !== 'decided' || !details.decided_by) throw failure;
      onMade({ ...(details as Decided), id, approval, isOwn: false });
    }
    setReason('');
  };
  return (
    <Confirm title={titles[decision]} question={`${titles[decision]} this call of ${agent_id}?`} act={act} onClose={onClose}>
      {decision === 'approve' ? (
        <>
          <p>
            Exactly this call of <Shown text={intent_name} /> will be made, once.
          </p>
          <Facts approval={approval} />
        </>
      ) : (
        <FormField field={reasonField} text={typed} onText={setReason} />
      )}
    </Confirm>
  );
}

/** Denies all waiting calls of an agent. */
function DenyAll({ agentId, count, onDone }: { agentId: string; count: number; onDone(): void }) {
  const [typed, setReason] = useDraft(`denial of ${agentId}`, '');
  const reason = typed.trim() || undefined;
  return (
    <Part title="Deny all calls of this agent">
      <FormField field={reasonField} text={typed} onText={setReason} />
      <Act
        title={`Deny all ${count} calls of this agent`}
        isDangerous
        command={`approvals deny --agent ${operand(agentId)} --reason ${quote(reason ?? '…')}`}
        act={async () => denyAll(api, await readApprovals(api, { agent_id: agentId }), reason)}
        onDone={onDone}
      />
    </Part>
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

/** A call of the list by its id, which the ids after its beginning start with. */
const readOne = async (id: string, signal: AbortSignal): Promise<Approval | undefined> =>
  (await ask<ApprovalPage>('GET', path, { query: { after: id.slice(0, -1), page_size: '1' }, isAdmin: true, signal })).value.approvals.find(
    (approval) => approval.id === id,
  );

interface PanelProps extends Pick<DecisionsProps, 'onChoose'> {
  id: string;
  listed: Approval | undefined;
  onClose(): void;
}

/** A waiting call in full, with the possible decisions. */
function Panel({ id, listed, onChoose, onClose }: PanelProps) {
  const reading = useWork(async (signal) => ({ approval: listed ?? (await readOne(id, signal)) }));
  const { approval } = reading.answer ?? {};
  return (
    <Dialog title={approval?.intent_name ?? 'Approval'} kind="panel" onClose={onClose}>
      <Awaited reading={reading} rows={4} />
      {reading.answer && !approval && (
        <p role="status">No call with this id is waiting for your approval. It may already have been decided, or it has expired.</p>
      )}
      {approval && (
        <>
          <Facts approval={approval} />
          <Command text={`approvals approve ${id}`} />
        </>
      )}
      <p class="buttons">
        {approval &&
          (['approve', 'deny'] as const).map((decision) => (
            <Button
              key={decision}
              title={titles[decision]}
              kind={decision === 'approve' ? 'main' : 'danger'}
              onClick={() => onChoose({ approval, decision })}
            />
          ))}
        <Button title="Close" onClick={onClose} />
      </p>
    </Dialog>
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
        <Time at={since} />, and expires <Expiry at={expires_at} />.
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
