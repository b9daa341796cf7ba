/** `npm run restore -- --from <copy> --to <table> (--intent <uid> | --service <id> | --all)`: takes records of the registry back out of a copy. */
import { Command, Option } from '@commander-js/extra-typings';
import { concurrencyOption } from './cli/context.ts';
import { usageFailure } from './cli/failure.ts';
import { runCommand } from './cli/program.ts';
import { openTerminal, printRemark } from './cli/terminal.ts';
import { applyPlan } from './restore/apply.ts';
import { makePlan, type Selection } from './restore/plan.ts';
import { requireResult, showPlan, showResult } from './restore/show.ts';
import { openTables, requireWriting } from './restore/tables.ts';

const selectors = ['intent', 'service', 'all'] as const;

function chooseSelection({ intent, service, all }: { intent?: string; service?: string; all?: true }): Selection {
  if ([intent, service, all].filter((given) => given !== undefined).length !== 1) {
    throw usageFailure('What is to be restored? Give one of --intent <uid>, --service <id> and --all.');
  }
  if (intent !== undefined) return { what: 'intent', id: intent };
  return service === undefined ? { what: 'all' } : { what: 'service', id: service };
}

const program = new Command('npm run restore --')
  .description(
    'Takes records of the registry back out of a copy that DynamoDB made of its table. Shows what it would do, and does it after a confirmation',
  )
  .requiredOption('--from <table>', 'the copy, made with aws dynamodb restore-table-to-point-in-time')
  .requiredOption('--to <table>', 'the live table: output RegistryTable of the deployment')
  .addOption(new Option('--intent <uid>', 'one intent').conflicts(selectors.filter((name) => name !== 'intent')))
  .addOption(new Option('--service <id>', 'a service and all its intents').conflicts(selectors.filter((name) => name !== 'service')))
  .option('--all', 'everything; also removes what the copy does not have')
  .option('--region <region>', "region of the tables; default: the AWS command line's")
  .option('-y, --yes', 'without asking')
  .option('--json', 'results as JSON')
  .addOption(concurrencyOption)
  .showHelpAfterError('(--help shows what there is)')
  .exitOverride()
  .action(async ({ from, to, region, yes, json = false, concurrency, ...selectedBy }) => {
    const terminal = openTerminal(json);
    const selection = chooseSelection(selectedBy);
    await using tables = await openTables({ from, to, region });
    for (const remark of tables.remarks) terminal.remark(remark);
    const plan = await makePlan(tables, selection);
    showPlan(terminal, plan);
    const { steps, obstacles, unchanged } = plan;
    const report = { from, to, unchanged, steps: steps.map(({ seen: _, ...step }) => step), obstacles };
    if (steps.length > 0 && !yes && !terminal.isInteractive) {
      terminal.json({ ...report, done: null });
      return terminal.remark('Nothing has been changed. Give --yes to do it.');
    }
    if (steps.length > 0) {
      await terminal.requireConfirmation(`Change ${to} so?`, yes);
      await requireWriting(tables);
    }
    const result = await applyPlan(terminal, tables, plan, concurrency);
    showResult(terminal, result);
    terminal.json({ ...report, done: result });
    requireResult(plan, result);
  });

process.on('SIGINT', () => {
  printRemark('\nStopped. What is done stays done; the same command does the rest.');
  process.exit(130);
});
process.exitCode = await runCommand(process.argv.slice(2), program);
