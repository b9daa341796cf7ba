import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { chooseBaseUrl, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { openTokens } from '../session.ts';

export function addConform(program: CommandUnknownOpts): void {
  program
    .command('conform [address]')
    .description('Check whether a gate does what the specification says; names the section of each check')
    .option(
      '--admin',
      'also make the checks of management and execution, as the admin that is signed in; what they write is removed at the end',
    )
    .option('--protocol <name>', 'what replaces "proto" in the names of members; default: what the gate uses')
    .option('--upstream <url>', 'a demo upstream that the gate can reach')
    .option('--only <ids>', 'the checks to make, separated by commas')
    .action(async (address, options, command) => {
      const { url, terminal } = openContext(command);
      const baseUrl = chooseBaseUrl(address ?? url);
      const [{ checks, runConformance }, { showOutcome, showSummary }] = await Promise.all([
        import('../../conform/run.ts'),
        import('../../conform/report.ts'),
      ]);
      const only = options.only?.split(',');
      const unknown = only?.filter((id) => !checks.some((check) => check.id === id)) ?? [];
      if (unknown.length > 0)
        throw usageFailure(`There is no check called ${unknown.join(' or ')}. The report of all checks (--json) has their ids.`);
      const report = await runConformance(baseUrl, {
        adminToken: options.admin ? await openTokens(baseUrl).get() : undefined,
        protocol: options.protocol,
        upstreamUrl: options.upstream,
        only,
        ...(!terminal.isJson && { onOutcome: showOutcome }),
      });
      if (!terminal.isJson) showSummary(report);
      terminal.json(report);
      if (report.failed > 0) throw new CliFailure('failure', 'The gate does not do all that the specification says.');
    });
}
