import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { readAnswer } from '../../../registry/api.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { openChainCheck } from '../../../registry/log-chain.ts';
import { readPages } from '../../../registry/read.ts';
import { type ChangedRecord, compareVersions, findObstacle, readChange, readWhole, undoChanges } from '../../../registry/undo.ts';
import { changedKinds, changePage, type LogEntry, type LoggedChange, type LogHead } from '../../../schemas/changes.ts';
import { openContext, readDurationMs } from '../context.ts';
import { printJson, type Terminal } from '../terminal.ts';
import { showDifferences } from './changes.ts';

/** Parses a duration before now, such as `7d`, or a date with an optional time. */
function readMoment(text: string, nowMs: number): string {
  const durationMs = readDurationMs(text);
  // Date.parse reads even a bare number
  const timeMs = durationMs === undefined ? Date.parse(/^\d{4}-/.test(text) ? text : '') : nowMs - durationMs;
  if (Number.isNaN(timeMs)) throw usageFailure('--since takes a duration such as 30m, 12h, 7d or 4w, or a date such as 2027-03-01.');
  return new Date(timeMs).toISOString();
}

const nameOf = ({ actor }: LogEntry): string => actor.user_name ?? actor.client_id ?? actor.subject;

/** One row per action and kind in an entry. */
const rowsOf = (entry: LogEntry, isWanted: (change: LoggedChange) => boolean): string[][] =>
  [...Map.groupBy(entry.changes.filter(isWanted), ({ action, kind }) => `${action} ${kind}`).values()].map((alike) => {
    const [{ action, kind, id } = { action: '', kind: '', id: '' }] = alike;
    const more = alike.length > 1 ? ` and ${alike.length - 1} more` : '';
    return [String(entry.seq), entry.at, nameOf(entry), action, kind, id + more];
  });

function showRecords(terminal: Terminal, records: readonly ChangedRecord[]): void {
  for (const { action, kind, id, differences = [] } of records) {
    terminal.say(`  ${action} ${kind} ${id}`);
    if (action === 'update') showDifferences(terminal, differences);
  }
}

function readExpected(text: string): LogHead {
  const [, seq, digest = ''] = /^([1-9][0-9]{0,11}):(sha-256=[\w-]{43})$/.exec(text) ?? [];
  if (seq === undefined) throw usageFailure('--expect takes the number and digest of an entry, as printed by "history verify".');
  return { seq: Number(seq), digest };
}

export function addHistory(program: CommandUnknownOpts): void {
  const history = program.command('history').description('Show, undo and verify changes');
  history
    .command('list', { isDefault: true })
    .description('List changes, newest first; with --json, complete entries, one per line; with --csv, one row per change')
    .option('--since <when>', 'how far back, such as 30m, 12h, 7d or 4w, or a date; default: everything that is kept')
    .option('--kind <kind>', `only changes of this kind: ${changedKinds.join(', ')}`)
    .option('--id <id>', 'only changes to this service_id, intent_uid or agent_id')
    .option('--actor <actor>', 'only changes by this user name, client id or token subject')
    .option('--limit <count>', 'maximum number of entries; default: 50, or all with --json')
    .action(async ({ since, kind, id, actor, limit }, command) => {
      const { api, terminal } = openContext(command);
      if (limit !== undefined && !/^[1-9][0-9]{0,8}$/.test(limit)) throw usageFailure('--limit must be a positive integer.');
      const query = { since: since && readMoment(since, Date.now()), kind, id, actor };
      let left = limit === undefined ? (terminal.format === 'text' ? 50 : Number.POSITIVE_INFINITY) : Number(limit);
      const shown: LogEntry[] = [];
      for await (const { entries } of readPages(api, '/api/changes', query, changePage, true)) {
        for (const entry of entries.slice(0, left)) {
          if (terminal.format === 'json') printJson(entry);
          else shown.push(entry);
        }
        left -= entries.length;
        if (left <= 0) break;
      }
      const isWanted = (one: LoggedChange) => (kind === undefined || one.kind === kind) && (id === undefined || one.id === id);
      const rows = shown.flatMap((entry) => rowsOf(entry, isWanted));
      if (rows.length > 0) terminal.table([['Entry', 'Time', 'Actor', 'Action', 'Kind', 'Id'], ...rows]);
      const changesOf = (entry: LogEntry) =>
        entry.changes
          .filter(isWanted)
          .map(({ action, kind, id }) => ({ seq: entry.seq, at: entry.at, actor: nameOf(entry), action, kind, id }));
      if (terminal.format === 'csv') terminal.json(shown.flatMap(changesOf));
      if (left < 0) terminal.remark('There are more entries. Raise --limit, or filter with --since, --kind, --id or --actor.');
    });
  history
    .command('show <number>')
    .description('Show a change, with the changed members of services and intents')
    .action(async (number, _, command) => {
      const { api, terminal } = openContext(command);
      const details = await readChange(api, number);
      terminal.json(details);
      terminal.say(`Entry ${details.entry.seq}, ${details.entry.at}, by ${nameOf(details.entry)}`);
      showRecords(terminal, compareVersions(details));
    });
  history
    .command('undo <number>')
    .description('Undo a change of services, intents or the policy, or the whole import that it belongs to, unless they have changed since')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (number, { yes }, command) => {
      const { api, terminal } = openContext(command);
      const whole = await readWhole(api, number);
      for (const obstacle of whole.map(findObstacle)) if (obstacle !== undefined) throw new CliFailure('failure', obstacle);
      if (!yes) for (const details of whole) showRecords(terminal, compareVersions(details));
      const what = whole.length > 1 ? `the import of ${whole.length} entries` : 'this change';
      await terminal.requireConfirmation(`Undo ${what}?`, yes);
      await undoChanges(api, whole);
      const undone = whole.map(({ entry }) => entry.seq);
      terminal.result({ undone }, undone.length > 1 ? `Entries ${undone.join(', ')} are undone.` : `Entry ${number} is undone.`);
    });
  history
    .command('verify')
    .description('Verify the hash chain of the log. If it is broken, prints the first entry that does not match; exit code 1')
    .option('--expect <number:digest>', 'the newest entry of an earlier check, which must still be in the log')
    .action(async ({ expect }, command) => {
      const { api, terminal } = openContext(command);
      const expected = expect === undefined ? undefined : readExpected(expect);
      let check: ReturnType<typeof openChainCheck> | undefined;
      let head: LogHead = { seq: 0, digest: null };
      let progress: ReturnType<Terminal['progress']> | undefined;
      try {
        for await (const page of readPages(api, '/api/changes', {}, changePage, true)) {
          if (check === undefined) head = page.head;
          check ??= openChainCheck(head, expected);
          check.add(page.entries);
          progress ??= terminal.progress('Verifying entries', head.seq);
          page.entries.forEach(progress.step);
        }
      } finally {
        progress?.end();
      }
      const { head: now } = readAnswer(changePage, await api.call('GET', '/api/changes', { query: { page_size: '1' }, isAdmin: true }));
      const { misfits = [], count = 0, oldest } = check?.finish(now) ?? {};
      terminal.json({ head, count, oldest, misfits });
      const [first] = misfits;
      const begin = oldest && oldest.seq > 1 ? ` Entries before ${oldest.seq} (${oldest.at}) have expired or were removed.` : '';
      const whole = count === 0 ? 'No entries are kept' : `Verified ${count} entries`;
      if (first === undefined)
        return terminal.say(head.seq === 0 ? 'The log is empty.' : `${whole}, up to ${head.seq}:${head.digest}.${begin}`);
      const intact = Math.min(first.seq - 1, head.seq);
      const before = intact >= (oldest?.seq ?? 1) ? `Entries up to ${intact} are intact. ` : '';
      const others = misfits.length > 1 ? ` ${misfits.length - 1} more ${misfits.length > 2 ? 'entries do' : 'entry does'} not match.` : '';
      const hint = first.problem === 'is missing.' ? ' Only admins of all namespaces can see every entry.' : '';
      throw new CliFailure('failure', `${before}Entry ${first.seq} ${first.problem}${others}${hint}${begin}`);
    });
}
