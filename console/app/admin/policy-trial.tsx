import { type PolicyTrial, policyTrialQuery, type TrialRow } from '../../../schemas/executions.ts';
import { Failure } from '../components/failure.tsx';
import { Heading } from '../components/heading.tsx';
import { Table } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Link, Shown, Time } from '../components/text.tsx';
import { useRead } from '../gate.ts';
import { linkTo } from '../route.ts';
import { Command } from './record-form.tsx';

const periods = { hour: 'last hour', day: 'last day', week: 'last week' };

/** What the policy of the setting `tryPolicyFile` would have done. */
export function PolicyOnTrial({ query }: { query: URLSearchParams }) {
  const { period } = policyTrialQuery.safeParse(Object.fromEntries(query)).data ?? policyTrialQuery.parse({});
  const { answer, error, reload } = useRead<PolicyTrial>('/api/policy/try', { period }, 'admin');
  const trial = answer?.value;
  const tabs = Object.entries(periods).map(([value, label]) => [label, linkTo(['policy-trial'], { period: value })]);
  return (
    <>
      <Heading title="Policy on trial">What the policy on trial would have done</Heading>
      <Tabs label="Period" tabs={Object.fromEntries(tabs)} current={periods[period]} />
      <Failure error={error} retry={reload} />
      {trial && (
        <>
          <p class="quiet">
            Compared with the policy in force on {trial.calls} {trial.calls === 1 ? 'call' : 'calls'} since <Time at={trial.since} />. It is
            enforced on none.
          </p>
          {trial.unknown.map(({ calls, because }) => (
            <p key={because}>
              Unknown: {calls} {calls === 1 ? 'call' : 'calls'} ({because}).
            </p>
          ))}
          <Rows label="Would have been refused" rows={trial.would_refuse} />
          <Rows label="Would no longer have been refused" rows={trial.would_permit} />
          <Rows label="Would have waited for approval" rows={trial.would_wait} />
        </>
      )}
      <Command text="npx intent-gate policy try policy.next.json --since 7d" />
    </>
  );
}

const Rows = ({ label, rows }: { label: string; rows: readonly TrialRow[] }) => (
  <section>
    <h2>{label}</h2>
    {rows.length === 0 ? (
      <p>None.</p>
    ) : (
      <Table
        label={label}
        heads={['Rule', 'Agent', 'Operation', 'Calls', 'First', 'Last']}
        numbers={['Calls']}
        rows={rows.map(({ words, agent_id, intent_uid, calls, first, last }) => [
          <Shown text={words} />,
          <Link to={linkTo(['agents', agent_id])} text={agent_id} />,
          <Link to={linkTo(['intents', intent_uid])} text={intent_uid} />,
          calls,
          <Time at={first} />,
          <Time at={last} />,
        ])}
      />
    )}
  </section>
);
