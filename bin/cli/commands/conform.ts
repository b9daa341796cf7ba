import type { Command } from 'commander';
import { chooseBaseUrl } from '../context.ts';
import { CliFailure } from '../failure.ts';
import { openTokens } from '../session.ts';
import { openTerminal } from '../terminal.ts';

interface ConformOptions {
  admin?: boolean;
  protocol?: string;
  upstream?: string;
  only?: string;
}

export function addConform(program: Command): void {
  program
    .command('conform [address]')
    .description('Check whether a service does what the specification says; names the section of each check')
    .option(
      '--admin',
      'also make the checks of management and execution, as the admin that is signed in; what they write is removed at the end',
    )
    .option('--protocol <name>', 'what stands for "proto" in the names of members')
    .option('--upstream <url>', 'a demo upstream that the service can reach')
    .option('--only <ids>', 'the checks to make, separated by commas')
    .action(async (address: string | undefined, options: ConformOptions, command: Command) => {
      const { url, json = false } = command.optsWithGlobals<{ url?: string; json?: boolean }>();
      const baseUrl = chooseBaseUrl(address ?? url);
      const terminal = openTerminal(json);
      const [{ CannotCheck, runConformance }, { showOutcome, showSummary }] = await Promise.all([
        import('../../conform/run.ts'),
        import('../../conform/show.ts'),
      ]);
      try {
        const report = await runConformance(baseUrl, {
          adminToken: options.admin ? await openTokens(baseUrl).get() : undefined,
          protocol: options.protocol,
          upstreamUrl: options.upstream,
          only: options.only?.split(','),
          ...(!json && { onOutcome: showOutcome }),
        });
        if (!json) showSummary(report);
        terminal.json(report);
        if (report.failed > 0) throw new CliFailure('failure', 'The service does not do all that the specification says.');
      } catch (error) {
        if (error instanceof CannotCheck) throw new CliFailure('unreachable', error.message, { cause: error });
        throw error;
      }
    });
}
