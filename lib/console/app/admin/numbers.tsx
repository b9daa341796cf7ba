import { latencyLimits, type ServiceStats, type Stats } from '../../../../schemas/stats.ts';
import { useRead } from '../gate.ts';
import { Failure, Heading, Shown, Table } from '../parts.tsx';
import { linkTo } from '../route.ts';

const slotMs = { day: 3_600_000, month: 86_400_000 };
const slotCount = { day: 24, month: 30 };

/** What was executed and refused, and how the services did. */
export function Numbers({ query }: { query: URLSearchParams }) {
  const period = query.get('period') === 'month' ? 'month' : 'day';
  const { answer, error, reload } = useRead<Stats>('/api/stats', { period }, 'admin');
  const stats = answer?.value;
  return (
    <>
      <Heading title="Numbers" />
      <nav class="tags" aria-label="Period">
        {(['day', 'month'] as const).map((option) => (
          <a key={option} class="tag" href={linkTo(['numbers'], { period: option })} aria-current={option === period ? 'page' : undefined}>
            last {option}
          </a>
        ))}
      </nav>
      <Failure error={error} retry={reload} />
      <p class="quiet">Instances of the gate write what they have counted once a minute, so the last minute may be missing.</p>
      {stats?.services.length === 0 && <p>Nothing has been executed.</p>}
      <ul class="cards">
        {stats?.services.map((service) => (
          <Card key={service.service_id ?? ''} service={service} stats={stats} />
        ))}
      </ul>
    </>
  );
}

function Card({ service, stats }: { service: ServiceStats; stats: Stats }) {
  const name =
    service.service_name ?? (service.service_id === undefined ? 'Refused before an intent was looked up' : 'A service that was deleted');
  const { executions, upstream_failures: failures, drift, upstream_ms: ms, latency } = service;
  const answered = latency.reduce((total, count) => total + count, 0);
  const refusals = Object.entries(service.refusals).sort(([, one], [, other]) => other - one);
  return (
    <li>
      <h2>
        <Shown text={name} />
      </h2>
      <Chart service={service} stats={stats} name={name} />
      <p>
        {executions} executed or refused, {failures} upstream {failures === 1 ? 'failure' : 'failures'}
        {drift > 0 && `, ${drift} ${drift === 1 ? 'answer' : 'answers'} not as described`}
        {answered > 0 && `, ${Math.round(ms / answered)} ms on average, nine of ten within ${percentile(latency, 0.9)}`}
      </p>
      {refusals.length > 0 && (
        <Table
          label={`Refusals of ${name}`}
          heads={['Refused because', 'Times']}
          numbers={['Times']}
          rows={refusals.map(([code, count]) => [<a href={`docs#${code}`}>{code}</a>, count])}
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

const width = 480;
const height = 72;

/** A bar for each hour or day: what was answered, and above it what was refused or failed. */
function Chart({ service, stats, name }: { service: ServiceStats; stats: Stats; name: string }) {
  const count = slotCount[stats.period];
  const firstMs = Date.parse(stats.from);
  const slots = service.slots.map(({ from, executions, refusals }) => ({
    at: Math.round((Date.parse(from) - firstMs) / slotMs[stats.period]),
    executions,
    refused: Object.values(refusals).reduce((total, one) => total + one, 0),
  }));
  const most = Math.max(1, ...slots.map(({ executions }) => executions));
  const step = width / count;
  const scale = (value: number) => (value / most) * (height - 2);
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${name}: at most ${most} in one ${stats.period === 'day' ? 'hour' : 'day'}`}
    >
      <line x1="0" y1={height - 0.5} x2={width} y2={height - 0.5} class="axis" />
      {slots.map(({ at, executions, refused }) => (
        <g key={at}>
          <rect
            class="bar"
            x={at * step + 1}
            y={height - scale(executions - refused)}
            width={step - 2}
            height={scale(executions - refused)}
          >
            <title>{executions - refused} answered</title>
          </rect>
          <rect class="bar refused" x={at * step + 1} y={height - scale(executions)} width={step - 2} height={scale(refused)}>
            <title>{refused} refused</title>
          </rect>
        </g>
      ))}
    </svg>
  );
}
