import { addUp, codesOf, failedOf, meanOf, refusedOf, servedOf, usedService } from '../../../registry/usage/usage.ts';
import {
  latencyLimits,
  type ServiceStats,
  type Stats,
  type StatsByAgent,
  type StatsByIntent,
  type StatsNumbers,
  statsQuery,
} from '../../../schemas/usage/stats.ts';
import { Downloads } from '../admin/downloads.tsx';
import { Choice } from '../components/controls.tsx';
import { Awaited, EmptyState, Failure } from '../components/states.tsx';
import { type Column, DataTable, Table } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Ago, Heading, Link, Part, Shown } from '../components/text.tsx';
import { useRead } from '../gate.ts';
import { go, linkTo, type Route } from '../route.ts';
import type { AdminSection, Subject } from '../section.ts';
import { Chart } from './chart.tsx';
import { usage } from './section.ts';

const slotsOf = {
  hour: { ms: 300_000, name: 'five minutes', count: 12 },
  day: { ms: 3_600_000, name: 'hour', count: 24 },
  month: { ms: 86_400_000, name: 'day', count: 30 },
};

const periods = { hour: 'Last hour', day: 'Last 24 hours', month: 'Last 30 days' };
const groups = { service: 'By service', intent: 'By operation', agent: 'By agent' };

/** Start and length of a response's time slots. */
type Slots = Pick<Stats, 'period' | 'from'>;

type Answer = Slots & Partial<Pick<Stats, 'services'> & Pick<StatsByIntent, 'intents'> & Pick<StatsByAgent, 'agents'>>;

function Usage({ query }: Route) {
  const { period, by, service_id = '' } = statsQuery.safeParse(Object.fromEntries(query)).data ?? statsQuery.parse({});
  const [from = '', to = ''] = ['from', 'to'].map((name) => query.get(name) ?? '');
  const asked = { period, by, service_id, from, to };
  const all = useRead<Stats>('/api/stats', { period }, 'admin').answer?.value.services ?? [];
  const named = all.filter((service) => service.service_name !== undefined);
  const linkWith = (changed: Partial<Asked>) => linkTo(['usage'], { ...asked, ...changed });
  const day = (name: 'from' | 'to', label: string) => (
    <label class="check" title="A day of the last 30, in UTC">
      {label}
      <input
        type="date"
        value={asked[name]}
        onChange={({ currentTarget: { value } }) => go(linkWith({ period: 'month', [name]: value }))}
      />
    </label>
  );
  return (
    <>
      <Heading title="Usage" />
      <div class="toolbar tabbed">
        <Tabs
          label="Period"
          tabs={periods}
          current={from + to === '' ? period : ''}
          linkOf={(name) => linkWith({ period: name, from: '', to: '' })}
        />
        {day('from', 'From')}
        {day('to', 'To')}
        <Tabs label="Grouping" tabs={groups} current={by} linkOf={(name) => linkWith({ by: name })} />
        <Choice
          label="Service"
          none="All services"
          options={named.map((service) => [service.service_id ?? '', usedService(service)])}
          value={service_id}
          onChoose={(chosen) => go(linkWith({ service_id: chosen }))}
        />
      </div>
      <UsageOf asked={asked} />
    </>
  );
}

interface Asked extends Record<'period' | 'by' | 'service_id', string> {
  /** days of the last 30 (UTC), instead of the whole period */
  from?: string;
  to?: string;
}

const About = ({ kind, id }: Subject) =>
  kind === 'service' ? <UsageOf asked={{ period: 'day', by: 'agent', service_id: id }} /> : <UsageOfAgent id={id} />;

/** An agent's executions in the last day. */
function UsageOfAgent({ id }: Pick<Subject, 'id'>) {
  const { answer } = useRead<StatsByAgent>('/api/stats', { period: 'day', by: 'agent' }, 'admin');
  const own = answer?.value.agents.find(({ agent_id }) => agent_id === id);
  if (!answer) return null;
  if (!own) return <p class="quiet">No calls in the last 24 hours, or not among the 200 busiest agents.</p>;
  return (
    <Part title="Usage in the last 24 hours">
      <UsageCharts rows={[own]} slots={answer.value} agent={id} />
      <Reasons rows={[own]} />
    </Part>
  );
}

/** Columns with the executions of the last day. Of agents, only the 200 busiest have any. */
const useColumns: NonNullable<AdminSection['useColumns']> = (list, service_id = '') => {
  const by = { services: 'service', agents: 'agent', intents: 'intent' }[list];
  const asked = { period: 'day', by, service_id };
  const { answer } = useRead<Answer>('/api/stats', asked, 'admin');
  const used = new Map(answer && rowsOf(answer.value, asked).map((own) => [own.id, own]));
  const numbers = (head: string, numberOf: (own: ServiceStats) => number): Column<string> => {
    const cell = (id: string) => {
      const own = used.get(id);
      return own ? numberOf(own) : 0;
    };
    return { head, cell, sortBy: cell, isNumber: true };
  };
  const lastOf = (id: string) => used.get(id)?.last_failure;
  const lastFailure: Column<string> = {
    head: 'Last failure',
    cell: (id) => {
      const last = lastOf(id);
      return (
        last && (
          <>
            <Ago at={last.at} /> {last.code}
          </>
        )
      );
    },
    sortBy: (id) => lastOf(id)?.at,
  };
  return [
    numbers('Calls (24 h)', ({ executions }) => executions),
    list === 'agents' ? numbers('Refused', refusedOf) : numbers('Failed', failedOf),
    ...(list === 'services' ? [lastFailure] : []),
  ];
};

interface Row extends ServiceStats {
  id: string | undefined;
  name: string;
  link: string | undefined;
}

/** The services, intents or agents of an answer. The row of a service links to its agents. */
const rowsOf = ({ services = [], intents = [], agents = [] }: Answer, asked: Asked): Row[] => [
  ...services.map((row) => ({
    ...row,
    id: row.service_id,
    name: usedService(row),
    link: row.service_id && linkTo(['usage'], { ...asked, service_id: row.service_id, by: 'agent' }),
  })),
  ...intents.map((row) => ({ ...row, id: row.intent_uid, name: row.intent_uid, link: linkTo(['intents', row.intent_uid]) })),
  ...agents.map((row) => ({ ...row, id: row.agent_id, name: row.agent_id, link: linkTo(['agents', row.agent_id]) })),
];

/** Charts and a table of executions. */
function UsageOf({ asked }: { asked: Asked }) {
  const { from = '', to = '', ...read } = asked;
  const reading = useRead<Answer>('/api/stats', read, 'admin');
  const { answer, error, reload } = reading;
  if (!answer) return <Awaited reading={reading} />;
  const isAsked = (at: string) => at.slice(0, 10) >= from && (to === '' || at.slice(0, 10) <= to);
  const rows = rowsOf(answer.value, asked)
    .map((row) => ({ ...row, slots: row.slots.filter((slot) => isAsked(slot.from)) }))
    .map((row) => ({ ...row, ...addUp(row.slots) }))
    .filter(({ executions }) => executions > 0)
    .sort((one, other) => other.executions - one.executions);
  return (
    <>
      <Failure error={error} retry={reload} />
      {rows.length > 0 && <UsageCharts rows={rows} slots={answer.value} isAsked={isAsked} />}
      <DataTable
        label="Usage"
        columns={columns}
        rows={rows}
        keyOf={({ name, link }) => `${name} ${link}`}
        textOf={({ name }) => name}
        empty={<EmptyState title="No calls in this period" />}
      />
      <Reasons rows={rows} />
      {rows.length > 0 && <Downloads name="usage" records={() => rows.flatMap(recordsOf)} />}
      <p class="quiet">
        Calls are counted within two minutes.{' '}
        {asked.by !== 'service' && `Listed are the 200 busiest ${asked.by === 'agent' ? 'agents' : 'operations'} of the whole period.`}
      </p>
    </>
  );
}

/** A row as records, one for each slot. */
const recordsOf = ({ name, service_id, slots }: Row) =>
  slots.map(({ from, ...numbers }) => ({
    ...{ from, name, ...(service_id && { service_id }) },
    ...{ served: servedOf(numbers), refused: refusedOf(numbers), failed: failedOf(numbers) },
    ...numbers,
  }));

/** Tables of the error codes of refused and of failed calls. */
const Reasons = ({ rows }: { rows: readonly StatsNumbers[] }) =>
  [false, true].map((areFailures) => {
    const sums = codesOf(addUp(rows), areFailures).sort(([, one], [, other]) => other - one);
    const title = `${areFailures ? 'Failures' : 'Refusals'} by reason`;
    return sums.length === 0 ? null : (
      <Part key={title} title={title}>
        <Table
          label={areFailures ? 'Codes of failures' : 'Codes of refusals'}
          heads={['Reason', 'Count']}
          numbers={['Count']}
          rows={sums.map(([code, count]) => [<a href={linkTo(['reference', code])}>{code}</a>, count])}
        />
      </Part>
    );
  });

const inMs = (value: number | undefined): string => (value === undefined ? '–' : `${value} ms`);

const columns: readonly Column<Row>[] = [
  {
    head: 'Name',
    cell: ({ name, link }) => (link === undefined ? <Shown text={name} /> : <Link to={link} text={name} />),
    sortBy: ({ name }) => name,
  },
  { head: 'Calls', cell: ({ executions }) => executions, sortBy: ({ executions }) => executions, isNumber: true },
  { head: 'Served', cell: servedOf, sortBy: servedOf, isNumber: true },
  { head: 'Refused', cell: refusedOf, sortBy: refusedOf, isNumber: true },
  { head: 'Failed', cell: failedOf, sortBy: failedOf, isNumber: true },
  { head: 'Schema mismatches', cell: ({ drift }) => drift, sortBy: ({ drift }) => drift, isNumber: true },
  { head: 'Mean', cell: (row) => inMs(meanOf(row)), sortBy: meanOf, isNumber: true },
  { head: 'p90', cell: ({ latency }) => percentile(latency, 0.9), isNumber: true },
];

/** The upper bound of the latency bucket that contains a percentile. @param share - from 0 to 1 */
function percentile(latency: readonly number[], share: number): string {
  const total = latency.reduce((sum, count) => sum + count, 0);
  if (total === 0) return '–';
  let seen = 0;
  const at = latency.findIndex((count) => {
    seen += count;
    return seen >= total * share;
  });
  const limit = latencyLimits[at];
  return limit === undefined ? '> 10 s' : limit < 1_000 ? `≤ ${limit} ms` : `≤ ${limit / 1_000} s`;
}

interface ChartsProps {
  rows: readonly Pick<ServiceStats, 'slots'>[];
  slots: Slots;
  /** whether a slot is shown, by its start */
  isAsked?(at: string): boolean;
  /** whose executions a click on a slot shows; default: everybody's */
  agent?: string;
}

/** Calls by outcome and upstream latency, in each slot of the period. */
function UsageCharts({ rows, slots: { period, from }, isAsked = () => true, agent = '' }: ChartsProps) {
  const { ms: slotMs, name: slotName, count } = slotsOf[period];
  const times = Array.from({ length: count }, (_, at) => Date.parse(from) + at * slotMs).filter((time) =>
    isAsked(new Date(time).toISOString()),
  );
  const groups = Map.groupBy(
    rows.flatMap(({ slots }) => slots),
    (slot) => Date.parse(slot.from),
  );
  const sums = times.map((time) => addUp(groups.get(time) ?? []));
  const linkOf = (timeMs: number) => {
    const [start = '', end = ''] = [timeMs, timeMs + slotMs].map((ms) => new Date(ms).toISOString());
    return linkTo(['executions'], { last: '', from: start, to: end, agent });
  };
  const nameTime = (timeMs: number) =>
    period === 'month'
      ? new Date(timeMs).toLocaleDateString([], { day: 'numeric', month: 'short', timeZone: 'UTC' })
      : new Date(timeMs).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  const shared = { times, nameTime, linkOf };
  return (
    <div class="columns">
      <Chart
        {...shared}
        title={`Calls per ${slotName}`}
        series={[
          { name: 'Served', tone: 'accent', values: sums.map(servedOf) },
          { name: 'Failed', tone: 'warn', values: sums.map(failedOf) },
          { name: 'Refused', tone: 'bad', values: sums.map(refusedOf) },
        ]}
      />
      <Chart
        {...shared}
        title="Mean latency of services"
        nameValue={(value) => `${value} ms`}
        series={[{ name: 'Mean latency', tone: 'accent', values: sums.map((one) => meanOf(one) ?? 0) }]}
      />
    </div>
  );
}

/** The last day in the overview. A service that answers 401 lacks its credential, or has another one. */
function useFigures() {
  const services = useRead<Stats>('/api/stats', { period: 'day' }, 'admin').answer?.value.services;
  const sumOf = (numberOf: (own: ServiceStats) => number) => services?.reduce((sum, own) => sum + numberOf(own), 0);
  const to = linkTo(['usage']);
  const refusing = services?.filter(({ last_failure }) => last_failure?.upstream_status === 401) ?? [];
  const [{ service_id } = {}] = refusing;
  return [
    { title: 'Calls (24 h)', value: sumOf(({ executions }) => executions), to },
    { title: 'Failures of services (24 h)', value: sumOf(({ upstream_failures }) => upstream_failures), to, isUrgent: true },
    {
      title: 'Services that answer 401',
      value: services && refusing.length,
      to: refusing.length === 1 && service_id ? linkTo(['services', service_id], { tab: 'credential' }) : linkTo(['services']),
      isUrgent: true,
    },
  ];
}

export const usageView: AdminSection = { ...usage, View: Usage, About, useColumns, useFigures };
