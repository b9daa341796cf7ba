import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { placeholder } from '../../../functions/core/policy/placeholder.ts';
import { readTrial } from '../../../functions/trial/read-trial.ts';
import { nameIntents, replay } from '../../../functions/trial/replay.ts';
import { readAnswer } from '../../../registry/api.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { readExecutions } from '../../../registry/read.ts';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { type RecordedExecution, recordedDays } from '../../../schemas/executions.ts';
import { namedPolicyTrial, type PolicyTrial } from '../../../schemas/trial/policy-trial.ts';
import { type CliContext, groupOf, openContext, readDurationMs } from '../context.ts';
import { readNames } from '../names.ts';
import { checkNames, compile, readInForce, readTemplate, refuseUnknown } from '../policies.ts';
import { plural } from '../terminal.ts';
import { readLogFile } from './log-lines.ts';

function readSince(text: string): number {
  const ms = readDurationMs(text);
  if (!ms || ms > recordedDays * 86_400_000)
    throw usageFailure(`--since takes a time such as 90m, 12h or 7d, of at most ${recordedDays}d.`);
  return ms;
}

export function addPolicyTry(program: CommandUnknownOpts): void {
  const policy = groupOf(program, 'policy');
  policy?.commands
    .find((one) => one.name() === 'publish')
    ?.option('--try', 'put it on trial instead: it judges every execution from now on, without effect');
  policy
    ?.command('trial')
    .description('Show what the policy on trial has decided. Exit code 1 if it would have refused a permitted call')
    .option('--period <period>', 'hour, day or week; default: day')
    .option('--end', 'end the trial')
    .action(async ({ period, end }, command) => {
      const { api, terminal } = openContext(command);
      if (end) {
        await api.call('DELETE', '/api/policy/try', { isAdmin: true });
        return terminal.result({ on_trial: false }, 'The trial has ended.');
      }
      const report = readAnswer(namedPolicyTrial, await api.call('GET', '/api/policy/try', { isAdmin: true, query: { period } }));
      show({ terminal }, report);
      refuseRefusals(report, 'The policy on trial');
    });
  policy
    ?.command('try <file>')
    .description('Show what a policy would have decided about recent calls. Exit code 1 if it would have refused a permitted call')
    .option('--since <time>', `how far back: 90m, 12h or 7d, at most ${recordedDays}d; default: 7d, or the whole file`)
    .option('--log <file>', "log lines to read instead of the gate's records, as JSON lines or a CloudWatch Logs export; - for stdin")
    .option('--registry <file>', 'registry file or folder to look up names in instead of the gate')
    .action(async (file, { since, log, registry }, command) => {
      const context = openContext(command);
      const untilMs = Date.now();
      const sinceMs = since === undefined && log !== undefined ? 0 : untilMs - readSince(since ?? '7d');
      const template = readTemplate(file);
      const { policy: inForce, address } = log === undefined ? await readInForce(context) : { policy: undefined, address: placeholder };
      const trial = readTrial(template, address);
      const names = await readNames(context, registry, trial.rules);
      const unknown = checkNames(context, trial.rules, names);
      const executions = log === undefined ? await readExecutions(context.api, sinceMs) : await readLogged(context, log, sinceMs);
      const starts = executions.map(({ started_at = '' }) => Date.parse(started_at));
      const firstMs = starts.reduce((first, one) => Math.min(first, one), untilMs);
      const lastMs = starts.reduce((last, one) => Math.max(last, one), firstMs);
      const services = new Map(names?.services.map(({ service_id, service_name }) => [service_id, service_name]));
      const report = replay(
        executions,
        {
          trial,
          inForce: inForce && { digest: canonicalDigest(inForce), rules: compile(inForce, address).rules },
          serviceName: (id) => services.get(id),
        },
        sinceMs > 0 ? sinceMs : firstMs,
        log === undefined ? untilMs : lastMs + 1,
      );
      show(context, report);
      refuseRefusals(report, file, unknown);
      refuseUnknown(unknown);
    });
}

function refuseRefusals({ would_refuse }: PolicyTrial, what: string, issues: Issue[] = []): void {
  const refused = sum(would_refuse);
  if (refused > 0)
    throw new CliFailure('failure', `${what} would have refused ${plural(refused, 'call')} that the policy in force permitted.`, {
      issues,
    });
}

async function readLogged({ terminal }: CliContext, file: string, sinceMs: number): Promise<RecordedExecution[]> {
  const { executions, malformed } = await readLogFile(file);
  if (malformed > 0) terminal.remark(`${malformed} lines "executed" of ${file} are invalid and were skipped.`);
  return executions.filter(({ started_at = '' }) => Date.parse(started_at) >= sinceMs);
}

const sum = (rows: readonly { calls: number }[]): number => rows.reduce((total, { calls }) => total + calls, 0);

function show({ terminal }: Pick<CliContext, 'terminal'>, report: PolicyTrial): void {
  const { since, until, calls, would_refuse, would_permit, would_wait, unknown, gaps } = report;
  terminal.say(`${plural(calls, 'call')} from ${since} to ${until}`);
  for (const [title, rows] of [
    ['would have been refused', would_refuse],
    ['would no longer have been refused', would_permit],
    ["would have waited for a person's approval", would_wait],
  ] as const) {
    terminal.say(`${title}: ${plural(sum(rows), 'call')}`);
    for (const [rule, own] of Map.groupBy(rows, (row) => row.rule)) {
      terminal.say(`  ${rule === '' ? '' : `${rule}  `}${own[0]?.words}`);
      for (const { calls, agent_id, intent_uid, first, last } of own)
        terminal.say(`    ${plural(calls, 'call')}  ${agent_id}  ${intent_uid}  ${first === last ? first : `${first} to ${last}`}`);
    }
  }
  if (unknown.length > 0) terminal.say(`could not be decided: ${plural(sum(unknown), 'call')}`);
  for (const row of unknown)
    terminal.say(`  ${row.rule}  ${row.words}\n    ${plural(row.calls, 'call')}  ${nameIntents(row)}  ${row.because}`);
  for (const { from, to } of gaps)
    terminal.remark(`There are no records from ${from} to ${to}. If there were calls, they are missing from this report.`);
  terminal.json(report);
}
