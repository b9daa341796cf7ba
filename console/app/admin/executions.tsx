import { type ExecutionPage, maxExecutionsOfPage, type RecordedExecution, recordedDays } from '../../../schemas/executions.ts';
import { Value } from '../answer.tsx';
import { Button, Choice, SearchBox } from '../components/controls.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Awaited, EmptyState } from '../components/states.tsx';
import { type Column, ReadTable } from '../components/table.tsx';
import { Badge, Heading, Link, Time, Way } from '../components/text.tsx';
import { type Answered, ask, gateNow, useWork } from '../gate.ts';
import { go, linkTo, type Route } from '../route.ts';
import { Downloads } from './downloads.tsx';

const path = '/api/executions';
const minuteMs = 60_000;

/** Periods, in minutes. */
const periods = [
  ['10', 'Last 10 minutes'],
  ['60', 'Last hour'],
  ['1440', 'Last 24 hours'],
  ['10080', 'Last 7 days'],
] as const;

/** Maximum number of executions that are read. */
const maxRead = 5 * maxExecutionsOfPage;

/** Recorded executions from the pages of a period, until there are `most`, or one of them is `wanted`. */
async function readPeriod(fromMs: number, toMs: number, signal: AbortSignal, most = maxRead, wanted?: string) {
  const found = new Map<string, RecordedExecution>();
  const period = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
  let query: Record<string, string> | undefined = period;
  while (query && found.size < most && !(wanted !== undefined && found.has(wanted))) {
    const { value, next }: Answered<ExecutionPage> = await ask('GET', path, { query, signal, isAdmin: true });
    for (const one of value.executions) found.set(one.execution_id, one);
    query = next;
  }
  return { executions: [...found.values()], isAll: query === undefined };
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ulid = new RegExp(`^[0-7][${alphabet}]{25}$`);

/** An execution by its id, which begins with the time of its request. Those that waited for approval ended up to half a day later. */
async function findExecution(id: string, signal: AbortSignal): Promise<RecordedExecution | undefined> {
  if (!ulid.test(id)) return undefined;
  const begunMs = [...id.slice(0, 10)].reduce((ms, digit) => ms * 32 + alphabet.indexOf(digit), 0);
  const soonMs = begunMs + 2 * minuteMs;
  for (const [fromMs, toMs, most] of [
    [begunMs - minuteMs, soonMs, Number.POSITIVE_INFINITY],
    [soonMs, soonMs + 13 * 60 * minuteMs, 4 * maxRead],
  ] as const) {
    const { executions } = await readPeriod(fromMs, toMs, signal, most, id);
    const found = executions.find(({ execution_id }) => execution_id === id);
    if (found) return found;
  }
  return undefined;
}

const toneOf = (outcome: string) =>
  outcome === 'OK' ? 'good' : ['INTENT_EXECUTION_FAILED', 'SERVICE_UNAVAILABLE'].includes(outcome) ? 'bad' : 'warn';

/** The time of a field of type datetime-local, which has no time zone, and back. */
const toLocal = (ms: number) => new Date(ms - new Date(ms).getTimezoneOffset() * minuteMs).toISOString().slice(0, 16);

/** Executions of a period, newest first; with an id, that execution in a panel at the side. */
export function Executions({ path: [, id], query }: Route) {
  const asked: Record<string, string> = Object.fromEntries(query);
  const { from, to, last = from === undefined ? '60' : '', agent = '', intent = '', outcome = '' } = asked;
  const reading = useWork(
    (signal) => {
      const nowMs = gateNow();
      return last === ''
        ? readPeriod(Date.parse(from ?? ''), Date.parse(to ?? '') || nowMs, signal)
        : readPeriod(nowMs - Number(last) * minuteMs, nowMs + minuteMs, signal);
    },
    [from, to, last],
  );
  const { executions = [], isAll = true } = reading.answer ?? {};
  const show = (changed: Record<string, string>) => go(linkTo(['executions'], { ...asked, ...changed }), { isReplacing: true });
  const field = (name: string, label: string) => (
    <SearchBox label={label} value={asked[name] ?? ''} onInput={({ currentTarget }) => show({ [name]: currentTarget.value })} />
  );
  const day = (name: 'from' | 'to', label: string) => (
    <label class="check">
      {label}
      <input
        type="datetime-local"
        value={asked[name] && toLocal(Date.parse(asked[name]) || 0)}
        onChange={({ currentTarget: { value } }) => value !== '' && show({ [name]: new Date(value).toISOString() })}
      />
    </label>
  );
  const has = (text: string | undefined, part: string) => (text ?? '').toLowerCase().includes(part.trim().toLowerCase());
  const rows = executions
    .filter((one) => has(one.agent_id, agent) && has(one.intent_uid, intent) && (outcome === '' || one.outcome === outcome))
    .sort((a, b) => timeOf(b).localeCompare(timeOf(a)));
  return (
    <>
      <Heading title="Executions" />
      <div class="toolbar">
        <SearchBox
          label="Find by id"
          onChange={({ currentTarget: { value } }) => value.trim() !== '' && go(linkTo(['executions', value.trim().toUpperCase()], asked))}
        />
        {field('agent', 'Agent')}
        {field('intent', 'Operation')}
        <Choice
          label="Outcome"
          none="All outcomes"
          options={[...new Set(executions.map((one) => one.outcome))].sort()}
          value={outcome}
          onChoose={(chosen) => show({ outcome: chosen })}
        />
        <Choice
          label="Period"
          none="Dates …"
          options={periods}
          value={last}
          onChoose={(chosen) =>
            show(chosen === '' ? { last: '', from: new Date(gateNow() - 60 * minuteMs).toISOString() } : { last: chosen, from: '', to: '' })
          }
        />
        {last === '' && day('from', 'From')}
        {last === '' && day('to', 'To')}
      </div>
      {!isAll && <p class="notice">There are more than these. Choose a shorter period.</p>}
      <ReadTable
        label="Executions"
        reading={reading}
        columns={columnsWith(asked)}
        rows={rows}
        keyOf={({ execution_id }) => execution_id}
        empty={
          <EmptyState title="No executions">
            <p>They appear within a minute after they end, and are kept for {recordedDays} days.</p>
          </EmptyState>
        }
      />
      {rows.length > 0 && <Downloads name="executions" records={() => rows} />}
      {id !== undefined && (
        <Details key={id} id={id} listed={executions.find(({ execution_id }) => execution_id === id)} onClose={() => show({})} />
      )}
    </>
  );
}

const timeOf = ({ started_at = '' }: RecordedExecution): string => started_at;

const columnsWith = (asked: Record<string, string>): readonly Column<RecordedExecution>[] => [
  {
    head: 'Started',
    cell: (one) => (
      <a href={linkTo(['executions', one.execution_id], asked)}>
        <Time at={timeOf(one)} />
      </a>
    ),
  },
  { head: 'Agent', cell: ({ agent_id }) => <Link to={linkTo(['agents', agent_id])} text={agent_id} />, sortBy: ({ agent_id }) => agent_id },
  { head: 'Operation', cell: ({ intent_uid = '' }) => intent_uid, sortBy: ({ intent_uid }) => intent_uid },
  {
    head: 'Outcome',
    cell: ({ outcome, reason }) => (
      <>
        <Badge tone={toneOf(outcome)}>{outcome}</Badge> {reason}
      </>
    ),
    sortBy: ({ outcome }) => outcome,
  },
  {
    head: 'Service',
    cell: ({ upstream_status, upstream_ms }) => upstream_status !== undefined && `${upstream_status} in ${Math.round(upstream_ms ?? 0)} ms`,
    sortBy: ({ upstream_ms }) => upstream_ms,
    isNumber: true,
  },
];

interface DetailsProps {
  id: string;
  listed: RecordedExecution | undefined;
  onClose(): void;
}

function Details({ id, listed, onClose }: DetailsProps) {
  const reading = useWork(async (signal) => ({ execution: listed ?? (await findExecution(id, signal)) }));
  const { execution } = reading.answer ?? {};
  return (
    <Dialog title={`Execution ${id}`} kind="panel" onClose={onClose}>
      <Awaited reading={reading} rows={4} />
      {reading.answer && !execution && (
        <p role="status">
          No execution has this id. Its response has it in the header Execution-Id. Executions appear within a minute after they end, and
          are kept for {recordedDays} days.
        </p>
      )}
      {execution && (
        <>
          <Value value={execution} label="Execution" />
          <Way to={linkTo(['agents', execution.agent_id])} title="Agent" />
          <Way to={execution.intent_uid && linkTo(['intents', execution.intent_uid])} title="Operation" />
        </>
      )}
      <p class="buttons">
        <Button title="Close" onClick={onClose} />
      </p>
    </Dialog>
  );
}
