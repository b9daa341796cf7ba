import type { ComponentChildren } from 'preact';
import { usageCells, usageHeads, usedService } from '../../../registry/usage.ts';
import {
  latencyLimits,
  type ServiceStats,
  type Stats,
  type StatsByAgent,
  type StatsByIntent,
  type StatsNumbers,
  statsQuery,
} from '../../../schemas/stats.ts';
import { Chart, type ChartProps } from '../components/chart.tsx';
import { Failure } from '../components/failure.tsx';
import { FormField } from '../components/field.tsx';
import { Heading } from '../components/heading.tsx';
import { Table } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Link, Shown } from '../components/text.tsx';
import { useRead } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import { Command } from './record-form.tsx';

const slotMs = { hour: 300_000, day: 3_600_000, month: 86_400_000 };
const slotNames = { hour: 'five minutes', day: 'hour', month: 'day' };
const slotCount = { hour: 12, day: 24, month: 30 };

const periods = { hour: 'last hour', day: 'last day', month: 'last month' };
const groups = { service: 'by service', intent: 'by operation', agent: 'by agent' };

type Answer = Pick<Stats, 'period' | 'from'> &
  Partial<Pick<Stats, 'services'> & Pick<StatsByIntent, 'intents'> & Pick<StatsByAgent, 'agents'>>;

export function Usage({ query }: { query: URLSearchParams }) {
  const { period, by, service_id = '' } = statsQuery.safeParse(Object.fromEntries(query)).data ?? statsQuery.parse({});
  const asked = { period, by, service_id };
  const tabsOf = (name: 'period' | 'by', labels: Record<string, string>) =>
    Object.fromEntries(Object.entries(labels).map(([value, label]) => [label, linkTo(['usage'], { ...asked, [name]: value })]));
  const all = useRead<Stats>('/api/stats', { period }, 'admin').answer?.value.services ?? [];
  const { answer, error, reload } = useRead<Answer>('/api/stats', asked, 'admin');
  const { services, intents, agents } = answer?.value ?? {};
  const named = all.filter((service) => service.service_name !== undefined);
  return (
    <>
      <Heading title="Usage" />
      <Tabs label="Period" tabs={tabsOf('period', periods)} current={periods[period]} />
      <Tabs label="Grouping" tabs={tabsOf('by', groups)} current={groups[by]} />
      <FormField
        field={{
          name: 'service',
          label: 'Service',
          type: 'string',
          hint: 'Only executions of its intents',
          enum: named.map((service) => service.service_id),
          labels: named.map(usedService),
        }}
        text={service_id && JSON.stringify(service_id)}
        onText={(text) => go(linkTo(['usage'], { ...asked, service_id: text && JSON.parse(text) }))}
      />
      <Failure error={error} retry={reload} />
      <p class="quiet">Each execution is counted once, from the log, within two minutes.</p>
      {(services ?? intents ?? agents)?.length === 0 && <p>Nothing has been executed.</p>}
      <ul class="list">
        {services?.map((service) => (
          <Card key={service.service_id ?? ''} service={service} stats={answer?.value as Stats} />
        ))}
      </ul>
      <Rows
        label="Operation"
        rows={(intents ?? []).map((row) => [<Link to={linkTo(['intents', row.intent_uid])} text={row.intent_uid} />, row])}
      />
      <Rows label="Agent" rows={(agents ?? []).map((row) => [<Link to={linkTo(['agents', row.agent_id])} text={row.agent_id} />, row])} />
      <Command text={`npx intent-gate ${by === 'agent' ? `agents top${service_id && ` --service ${service_id}`}` : 'services top'}`} />
    </>
  );
}

const Rows = ({ label, rows }: { label: string; rows: [name: ComponentChildren, numbers: StatsNumbers][] }) => (
  <Table
    label={label}
    heads={[label, ...usageHeads]}
    numbers={usageHeads}
    rows={rows.map(([name, numbers]) => [name, ...usageCells(numbers)])}
  />
);

function Card({ service, stats }: { service: ServiceStats; stats: Stats }) {
  const name = usedService(service);
  const { executions, upstream_failures: failures, drift, upstream_ms: ms, latency } = service;
  const answered = latency.reduce((total, count) => total + count, 0);
  const refusals = Object.entries(service.refusals).sort(([, one], [, other]) => other - one);
  return (
    <li>
      <h2>
        <Shown text={name} />
      </h2>
      <Chart title={`Calls per ${slotNames[stats.period]}`} {...chartOf(service, stats)} />
      <p>
        {executions} executed or refused, {failures} upstream {failures === 1 ? 'failure' : 'failures'}
        {drift > 0 && `, ${drift} ${drift === 1 ? 'answer' : 'answers'} not as described`}
        {answered > 0 && `, ${Math.round(ms / answered)} ms on average, p90 ${percentile(latency, 0.9)}`}
      </p>
      {refusals.length > 0 && (
        <Table
          label={`Refusals of ${name}`}
          heads={['Refused because', 'Times']}
          numbers={['Times']}
          rows={refusals.map(([code, count]) => [<a href={linkTo(['reference', code])}>{code}</a>, count])}
        />
      )}
    </li>
  );
}

/** The limit of the class of latency in which a share of the calls has ended. */
function percentile(latency: readonly number[], share: number): string {
  const total = latency.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  const at = latency.findIndex((count) => {
    seen += count;
    return seen >= total * share;
  });
  const limit = latencyLimits[at];
  return limit === undefined ? 'more than 10 s' : limit < 1_000 ? `${limit} ms` : `${limit / 1_000} s`;
}

/** What was answered, and above it what was refused, in each slot of the period. */
function chartOf({ slots }: ServiceStats, { period, from }: Stats): Pick<ChartProps, 'times' | 'series' | 'nameTime'> {
  const times = Array.from({ length: slotCount[period] }, (_, at) => Date.parse(from) + at * slotMs[period]);
  const totals = new Map(slots.map((slot) => [Math.round((Date.parse(slot.from) - Date.parse(from)) / slotMs[period]), slot]));
  const refused = times.map((_, at) => Object.values(totals.get(at)?.refusals ?? {}).reduce((total, one) => total + one, 0));
  return {
    times,
    series: [
      { name: 'Answered', tone: 'accent', values: times.map((_, at) => (totals.get(at)?.executions ?? 0) - (refused[at] ?? 0)) },
      { name: 'Refused', tone: 'bad', values: refused },
    ],
    ...(period === 'month' && {
      nameTime: (timeMs: number) => new Date(timeMs).toLocaleDateString([], { day: 'numeric', month: 'short' }),
    }),
  };
}
