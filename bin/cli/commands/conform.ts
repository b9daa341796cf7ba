import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { chooseBaseUrl, openContext } from '../context.ts';
import { openTokens } from '../session.ts';

export function addConform(program: CommandUnknownOpts): void {
  program
    .command('conform [address]')
    .description('Check whether a gate conforms to the specification, with the section of each check')
    .option('--admin', 'also check management and execution as the signed-in admin; anything created is removed at the end')
    .option('--upstream <url>', 'address of a demo upstream that the gate can reach')
    .option('--only <ids>', 'comma-separated ids of the checks to run')
    .action(async (address, options, command) => {
      const { url, terminal } = openContext(command);
      const baseUrl = chooseBaseUrl(address ?? url);
      const [{ checks, runConformance }, { showOutcome, showSummary }] = await Promise.all([
        import('../../conform/run.ts'),
        import('../../conform/report.ts'),
      ]);
      const only = options.only?.split(',');
      const unknown = only?.filter((id) => !checks.some((check) => check.id === id)) ?? [];
      if (unknown.length > 0) throw usageFailure(`Unknown check: ${unknown.join(', ')}. The report with --json lists all ids.`);
      const report = await runConformance(baseUrl, {
        adminToken: options.admin ? await openTokens(baseUrl).get() : undefined,
        upstreamUrl: options.upstream,
        only,
        ...(!terminal.isJson && { onOutcome: showOutcome }),
      });
      if (!terminal.isJson) showSummary(report);
      terminal.json(report);
      if (report.failed > 0) throw new CliFailure('failure', 'The gate does not conform to the specification.');
    });
}
