import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Command } from 'commander';
import type { IntentInput } from '../../../schemas/intent.ts';
import { type CliContext, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { readInput } from '../input.ts';
import { type Applied, applyChanges } from '../registry/apply.ts';
import { compareService, hasDrift, type ServiceChanges } from '../registry/compare.ts';
import { concurrently } from '../registry/concurrently.ts';
import { type FileFormat, openFileWriter, readRegistryFile } from '../registry/file.ts';
import { normalizeIntent, normalizeService } from '../registry/normal-form.ts';
import { findIntent, listIntents, requireService, searchServices } from '../registry/read.ts';
import { changesAsJson, describeCount, requireSuccess, showApplied, showChanges } from './changes.ts';
import { confirmOrRefuse } from './confirm.ts';
import { readConcurrency } from './options.ts';

interface ExportOptions {
  service?: string[];
  output?: string;
  format?: string;
  concurrency: string;
}

interface ApplyCommandOptions {
  prune?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  concurrency: string;
}

const concurrencyOption = ['--concurrency <count>', 'how many requests at a time, 1 to 64', '16'] as const;

export function addRegistry(program: Command): void {
  program
    .command('export')
    .description('Write services and their intents as one file to review and keep: those given, or all that a search finds')
    .option('--service <service...>', 'service_id or name')
    .option('-o, --output <file>', 'the file; default: stdout')
    .option('--format <format>', 'yaml or json; default: as the file is called, else yaml')
    .option(...concurrencyOption)
    .action((options: ExportOptions, command: Command) => runExport(openContext(command), options));
  program
    .command('diff <file>')
    .description('Show where the registry differs from the file. Exit code 2 if it does')
    .option(...concurrencyOption)
    .action((file: string, { concurrency }: { concurrency: string }, command: Command) => runDiff(openContext(command), file, concurrency));
  program
    .command('apply <file>')
    .description('Make the registry what the file says. Services that the file does not name are left alone')
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--prune', 'also remove intents that the file does not have')
    .option('-y, --yes', 'remove without asking')
    .option(...concurrencyOption)
    .action((file: string, options: ApplyCommandOptions, command: Command) => runApply(openContext(command), file, options));
}

const chooseFormat = ({ format, output = '' }: ExportOptions, isJson: boolean): FileFormat => {
  const chosen = format ?? (isJson || output.endsWith('.json') ? 'json' : 'yaml');
  if (chosen === 'json' || chosen === 'yaml') return chosen;
  throw usageFailure('--format takes yaml or json.');
};

async function runExport(context: CliContext, options: ExportOptions): Promise<void> {
  const { terminal } = context;
  const writer = openFileWriter(chooseFormat(options, terminal.isJson));
  const concurrency = readConcurrency(options.concurrency);
  const file = options.output === undefined ? undefined : createWriteStream(options.output);
  if (file) await once(file, 'open').catch((cause) => Promise.reject(new CliFailure('usage', 'The file cannot be written.', { cause })));
  const write = async (text: string) => {
    const stream = file ?? process.stdout;
    if (!stream.write(text)) await once(stream, 'drain');
  };
  let count = 0;
  const names = options.service ?? (await findNames(context));
  await write(writer.begin());
  for (const nameOrId of names) {
    const { service } = await requireService(context.api, nameOrId);
    await write(writer.service(normalizeService(service)));
    for await (const intents of readFully(context, service.service_id, concurrency)) {
      for (const intent of intents) await write(writer.intent(normalizeIntent(intent)));
      count += intents.length;
    }
  }
  await write(writer.end());
  if (file) await new Promise((resolve) => file.end(resolve));
  terminal.remark(`${names.length} ${names.length === 1 ? 'service' : 'services'} with ${count} ${count === 1 ? 'intent' : 'intents'}.`);
}

async function findNames({ api }: CliContext): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of searchServices(api)) names.push(name);
  return names.sort();
}

/** A service's intents in full, page by page, ordered by uid. Anything deleted in the meantime is left out. */
async function* readFully({ api, terminal }: CliContext, serviceId: string, concurrency: number): AsyncGenerator<IntentInput[]> {
  let progress: ReturnType<typeof terminal.progress> | undefined;
  for await (const { intents, pagination } of listIntents(api, serviceId)) {
    progress ??= terminal.progress('Reading', pagination.total_results);
    const found = new Map<string, IntentInput>();
    await concurrently(intents, concurrency, async ({ intent_uid }) => {
      const read = await findIntent(api, intent_uid);
      if (read) found.set(intent_uid, read.intent);
      progress?.step();
    });
    yield intents.flatMap(({ intent_uid }) => found.get(intent_uid) ?? []);
  }
  progress?.end();
}

async function compareFile({ api, terminal }: CliContext, file: string, concurrency: number): Promise<ServiceChanges[]> {
  const changes: ServiceChanges[] = [];
  for (const wanted of readRegistryFile(await readInput(file))) {
    changes.push(await compareService(api, wanted, { concurrency, progress: terminal.progress, isThorough: true }));
  }
  return changes;
}

async function runDiff(context: CliContext, file: string, concurrency: string): Promise<void> {
  const { terminal } = context;
  const changes = await compareFile(context, file, readConcurrency(concurrency));
  for (const service of changes.filter(hasDrift)) {
    showChanges(terminal, service, true);
    terminal.say(`${service.name}: ${describeCount(service, true)}`);
  }
  terminal.json(changes.map(changesAsJson));
  if (changes.some(hasDrift))
    throw new CliFailure('drift', 'The registry is not as the file says. "apply" makes it so; with --prune it also removes.');
  terminal.say('The registry is as the file says.');
}

async function runApply(context: CliContext, file: string, options: ApplyCommandOptions): Promise<void> {
  const { api, terminal } = context;
  const concurrency = readConcurrency(options.concurrency);
  const isPruning = options.prune === true;
  const changes = await compareFile(context, file, concurrency);
  if (options.dryRun) {
    for (const service of changes) {
      showChanges(terminal, service, isPruning);
      terminal.say(`${service.name}: ${describeCount(service, isPruning)}`);
    }
    return terminal.json(changes.map(changesAsJson));
  }
  const removals = isPruning ? changes.reduce((sum, { extra }) => sum + extra.length, 0) : 0;
  if (removals > 0) await confirmOrRefuse(terminal, options.yes, `Remove ${removals} intents that the file does not have?`);
  const applied: Applied[] = [];
  for (const service of changes) {
    applied.push(await applyChanges(api, service, { isPruning, concurrency, progress: terminal.progress }));
    showApplied(terminal, service.name, applied.at(-1) as Applied);
    if (!isPruning && service.extra.length > 0)
      terminal.remark(`${service.extra.length} intents of ${service.name} are not in the file; --prune removes them.`);
  }
  terminal.json(changes.map((service, at) => ({ ...changesAsJson(service), applied: applied[at] })));
  requireSuccess(applied);
}
