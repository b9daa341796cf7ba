import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type Change, changePage } from '../../../schemas/changes.ts';
import { openContext } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { readPages } from '../registry/read.ts';

const unitsMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** A moment: a time back from now such as `7d`, or a date with or without a time. */
function readMoment(text: string, nowMs: number): string {
  const [, count, unit = ''] = /^([0-9]{1,4})([mhdw])$/.exec(text) ?? [];
  const timeMs = count === undefined ? Date.parse(text) : nowMs - Number(count) * (unitsMs[unit] ?? 0);
  if (Number.isNaN(timeMs))
    throw usageFailure('--since takes a time back from now such as 30m, 12h, 7d or 4w, or a date such as 2027-03-01.');
  return new Date(timeMs).toISOString();
}

const nameOf = ({ actor }: Change): string => actor.user_name ?? actor.client_id ?? actor.subject;

export function addHistory(program: CommandUnknownOpts): void {
  program
    .command('changes')
    .description('Show who changed what, newest first; with --json all of it, one entry a line')
    .option('--since <when>', 'how far back: 30m, 12h, 7d, 4w, or a date; with --json default: everything that is kept', undefined)
    .option('--kind <kind>', 'only changes of services, intents, agents or keys: service, intent, agent, key')
    .option('--id <id>', 'only changes of this service_id, intent_uid or agent_id')
    .option('--actor <actor>', 'only changes by this user name, client id or token subject')
    .option('--limit <count>', 'how many at most; with --json default: all')
    .action(async ({ since, kind, id, actor, limit }, command) => {
      const { api, terminal } = openContext(command);
      if (limit !== undefined && !/^[1-9][0-9]{0,8}$/.test(limit)) throw usageFailure('--limit takes a whole number from 1 on.');
      const selection = { since: since && readMoment(since, Date.now()), kind, id, actor };
      const query = Object.fromEntries(Object.entries(selection).flatMap(([name, value]) => (value ? [[name, value]] : [])));
      let left = limit === undefined ? (terminal.isJson ? Number.POSITIVE_INFINITY : 50) : Number(limit);
      const shown: Change[] = [];
      for await (const { changes } of readPages(api, '/api/changes', query, changePage, true)) {
        for (const change of changes.slice(0, left)) {
          if (terminal.isJson) terminal.line(change);
          else shown.push(change);
        }
        left -= changes.length;
        if (left <= 0) break;
      }
      const rows = shown.map((change) => [
        change.changed_at,
        nameOf(change),
        change.action,
        change.kind,
        change.id,
        change.outcome === 'applied' ? '' : change.outcome,
      ]);
      terminal.table(rows);
      if (left < 0) terminal.remark(`There are more; --limit shows them, --since, --kind, --id and --actor choose.`);
    });
}
