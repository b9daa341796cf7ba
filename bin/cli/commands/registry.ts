import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type Applied, applyToSaved, refusedService, saveService } from '../../../registry/apply.ts';
import { compareService, hasDifferences, type ServiceChanges } from '../../../registry/compare.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { writers } from '../../../registry/file.ts';
import { exportToFolder, readRegistry, writeWhole } from '../../../registry/files.ts';
import { normalizeIntent, normalizeService } from '../../../registry/normal-form.ts';
import { listServices, readFullIntents, requireService } from '../../../registry/read.ts';
import { type CliContext, concurrencyOption, openContext } from '../context.ts';
import { plural, type Terminal } from '../terminal.ts';
import { changesAsJson, describeCount, noteOtherOrigins, requireSuccess, showApplied, showChanges, showUnwanted } from './changes.ts';

export function addRegistry(program: CommandUnknownOpts): void {
  program
    .command('export')
    .description('Export all or the given services, with their intents, to a file for review, diff and apply')
    .option('--service <service...>', 'service_id or name')
    .option('-o, --output <file>', 'output file; default: stdout')
    .option('--folder <folder>', 'write one file per service to this folder instead')
    .option('--format <format>', 'yaml or json; default: from the file name, else yaml')
    .action(async ({ service, output, folder, format }, command) => {
      const context = openContext(command);
      const write = chooseWriter(format ?? (context.terminal.format === 'json' || output?.endsWith('.json') ? 'json' : 'yaml'));
      if (output !== undefined && folder !== undefined) throw usageFailure('Give either --output or --folder.');
      const names = service ?? (await Array.fromAsync(listServices(context.api), ({ service_id }) => service_id));
      // nothing is written if one does not exist
      if (service !== undefined) await namesOf(context, service);
      let count = 0;
      const read = (some: readonly string[]) => write(readServices(context, some, () => count++));
      let others: string[] = [];
      if (folder !== undefined)
        others = await exportToFolder(folder, await namesOf(context, names), read, write === writers.json ? 'json' : 'yaml');
      else if (output !== undefined) await writeWhole(output, read(names));
      else for await (const part of read(names)) process.stdout.write(part);
      context.terminal.remark(`${plural(names.length, 'service')} with ${plural(count, 'intent')}.`);
      if (folder !== undefined || output !== undefined) context.terminal.json({ services: names.length, intents: count });
      if (service === undefined && others.length > 0)
        context.terminal.remark(
          `The folder also has ${others.join(', ')}, which this export did not write. "apply" reads them, too: delete those that you no longer want.`,
        );
    });
  program
    .command('diff <file>')
    .description('Compare the registry with a file, or the files in a folder. Exit code 2 if they differ')
    .addOption(concurrencyOption)
    .action(async (file, { concurrency }, command) => {
      const context = openContext(command);
      const { terminal } = context;
      const changes = await compareFile(context, file, concurrency);
      showAll(terminal, changes.filter(hasDifferences), true);
      terminal.json(changes.map(changesAsJson));
      if (changes.some(hasDifferences))
        throw new CliFailure('differences', 'The registry differs from the file. Run "apply" to update it; --prune also removes intents.');
      terminal.say('The registry matches the file.');
    });
  program
    .command('apply <file>')
    .description('Update the registry to match a file, or the files in a folder. Other services are not changed')
    .option('--dry-run', 'show the changes without making them')
    .option('--prune', 'also remove intents that are not in the file')
    .option('-y, --yes', 'do not ask for confirmation')
    .addOption(concurrencyOption)
    .action(async (file, { dryRun, prune: isPruning = false, yes, concurrency }, command) => {
      const context = openContext(command);
      const { terminal } = context;
      const changes = await compareFile(context, file, concurrency);
      for (const service of changes) noteOtherOrigins(terminal, service);
      if (dryRun) {
        showAll(terminal, changes, isPruning);
        return terminal.json(changes.map(changesAsJson));
      }
      const removals = isPruning ? changes.reduce((sum, { unwanted }) => sum + unwanted.length, 0) : 0;
      if (isPruning) for (const service of changes) showUnwanted(terminal, service, 'to remove', 'the file');
      if (removals > 0) await terminal.requireConfirmation(`Remove ${plural(removals, 'intent')}?`, yes);
      requireSuccess(await applyAll(context, changes, isPruning));
    });
}

/** Brings one service after the other into the wanted state, until all are or Ctrl-C is pressed. */
async function applyAll(context: CliContext, changes: readonly ServiceChanges[], isPruning: boolean): Promise<Applied[]> {
  const { terminal } = context;
  const applied: Applied[] = [];
  const interruption = terminal.watchInterrupt();
  const watched = { ...context, terminal: { ...terminal, watchInterrupt: () => ({ ...interruption, end: () => {} }) } };
  try {
    for (const service of changes) {
      if (interruption.isInterrupted()) {
        const done = `${applied.length} of ${plural(changes.length, 'service')}`;
        throw new CliFailure('interrupted', `Stopped after ${done}. Run the same command again to finish.`);
      }
      const saved = await saveService(watched, service).catch(refusedService);
      const result = 'refused' in saved ? saved : await applyToSaved(watched, service, isPruning, saved);
      applied.push(result);
      showApplied(terminal, service.name, result);
      if (!result.refused) showUnwanted(terminal, service, isPruning ? 'removed' : 'kept', 'the file');
    }
    return applied;
  } finally {
    interruption.end();
    if (applied.length > 0 || changes.length === 0)
      terminal.json(changes.map((service, at) => ({ ...changesAsJson(service), applied: applied[at] })));
  }
}

function chooseWriter(format: string) {
  if (format === 'json' || format === 'yaml') return writers[format];
  throw usageFailure('--format must be yaml or json.');
}

async function namesOf({ api }: CliContext, asked: readonly string[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const nameOrId of asked) names.set(nameOrId, (await requireService(api, nameOrId)).record.service_name);
  return names;
}

export async function* readServices(context: CliContext, names: readonly string[], onIntent: () => void = () => {}) {
  async function* readIntents(serviceId: string) {
    for await (const { record } of readFullIntents(context, serviceId)) {
      onIntent();
      yield normalizeIntent(record);
    }
  }
  for (const nameOrId of names) {
    const { record } = await requireService(context.api, nameOrId);
    yield { service: normalizeService(record), intents: readIntents(record.service_id) };
  }
}

async function compareFile(context: CliContext, file: string, concurrency: number): Promise<ServiceChanges[]> {
  const changes: ServiceChanges[] = [];
  for (const wanted of await readRegistry(file)) changes.push(await compareService(context, wanted, concurrency, true));
  return changes;
}

function showAll(terminal: Terminal, changes: readonly ServiceChanges[], isPruning: boolean): void {
  for (const service of changes) {
    showChanges(terminal, service, isPruning, 'the file');
    terminal.say(`${service.name}: ${describeCount(service, isPruning)}`);
  }
}
