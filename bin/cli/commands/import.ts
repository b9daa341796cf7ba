import type { Command } from 'commander';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import { type CliContext, isLoopback, openContext } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { readDocument } from '../import/document.ts';
import { fetchDocument } from '../import/fetch-document.ts';
import { loadFile } from '../import/load-file.ts';
import type { Note } from '../import/notes.ts';
import type { ImportPlan } from '../import/plan.ts';
import { planImport } from '../import/plan-import.ts';
import { readInput } from '../input.ts';
import { applyChanges } from '../registry/apply.ts';
import { compareService, type ServiceChanges } from '../registry/compare.ts';
import { requireService } from '../registry/read.ts';
import type { Terminal } from '../terminal.ts';
import { changesAsJson, describeCount, requireSuccess, showApplied, showChanges } from './changes.ts';
import { confirmOrRefuse } from './confirm.ts';
import { readConcurrency } from './options.ts';

interface ImportCommandOptions {
  dryRun?: boolean;
  namespace?: string;
  intentVersion?: string;
  baseUrl?: string;
  name?: string;
  service?: string;
  keepDeprecated?: boolean;
  prune?: boolean;
  yes?: boolean;
  concurrency: string;
  allowLoopback?: boolean;
  verbose?: boolean;
}

export function addImport(program: Command): void {
  program
    .command('import <document>')
    .description(
      'Register the operations of an OpenAPI 3.0 or 3.1, Swagger 2.0 or service description document: a file, an https address, or - for stdin',
    )
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--namespace <namespace>', "namespace of the intents; default: the API's host")
    .option('--intent-version <version>', 'version of the intents, such as v2; default: the major version of the document')
    .option('--base-url <url>', "the API's address, in place of what the document says")
    .option('--name <name>', 'name of the service; default: the title of the document')
    .option('--service <service>', 'register into this service (service_id or name), and leave its own record as it is')
    .option('--keep-deprecated', 'intents of deprecated operations can be executed all the same')
    .option('--prune', 'also remove intents of the service that the document does not have')
    .option('-y, --yes', 'remove without asking')
    .option('--concurrency <count>', 'how many requests at a time, 1 to 64', '16')
    .option('--allow-loopback', 'fetch the document, and let intents lead, to this machine; for local development')
    .option('--verbose', 'show every note, not one of each kind')
    .action((document: string, options: ImportCommandOptions, command: Command) => runImport(openContext(command), document, options));
}

async function runImport({ api, terminal }: CliContext, source: string, options: ImportCommandOptions): Promise<void> {
  const concurrency = readConcurrency(options.concurrency);
  const isPruning = options.prune === true;
  const plan = await makePlan(source, options, api.baseUrl);
  const into = options.service === undefined ? undefined : (await requireService(api, options.service)).service;
  const wanted = { service: plan.service, intents: plan.intents, ...(into && { into }) };
  const changes = await compareService(api, wanted, { concurrency, progress: terminal.progress, isThorough: options.dryRun === true });
  if (options.dryRun) showChanges(terminal, changes, isPruning);
  showPlan(terminal, plan, options.verbose === true);
  terminal.say(`${changes.name}: ${describeCount(changes, isPruning)}, ${plan.skipped.length} skipped`);
  if (options.dryRun) return terminal.json(describeAll(plan, changes));
  if (isPruning && changes.extra.length > 0)
    await confirmOrRefuse(terminal, options.yes, `Remove ${changes.extra.length} intents of ${changes.name}?`);
  const applied = await applyChanges(api, changes, { isPruning, concurrency, progress: terminal.progress });
  showApplied(terminal, changes.name, applied);
  terminal.json({ ...describeAll(plan, changes), applied });
  requireSuccess([applied]);
}

async function makePlan(source: string, options: ImportCommandOptions, registryUrl: string): Promise<ImportPlan> {
  if (options.intentVersion !== undefined && !/^v[0-9]+([.][0-9]+)*$/.test(options.intentVersion)) {
    throw usageFailure('--intent-version takes v and numbers separated by dots, for example v1.2.');
  }
  const isUrl = /^https?:\/\//i.test(source);
  const rules = chooseRules(options, registryUrl);
  const document = isUrl
    ? readDocument(await fetchDocument(source, rules))
    : source === '-'
      ? await readInput(source)
      : await loadFile(source);
  return planImport(document, {
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    ...(options.intentVersion !== undefined && { version: options.intentVersion }),
    ...(options.name !== undefined && { serviceName: options.name }),
    ...(options.baseUrl !== undefined && { baseUrl: options.baseUrl }),
    ...(isUrl && { documentUrl: source }),
    keepDeprecated: options.keepDeprecated === true,
    rules,
    registryUrl,
  });
}

/** Which ports are allowed is up to the deployment, so the port that is asked for is not checked here. */
function chooseRules({ allowLoopback, baseUrl }: ImportCommandOptions, registryUrl: string): EgressRules {
  const port = Number(URL.parse(baseUrl ?? '')?.port || 443);
  return { ports: [...new Set([443, port])], allowLoopback: allowLoopback === true || isLoopback(registryUrl), ownHosts: [] };
}

const describeAll = ({ skipped, notes, credentials }: ImportPlan, changes: ServiceChanges) => ({
  ...changesAsJson(changes),
  skipped,
  notes,
  credentials,
});

function showPlan(terminal: Terminal, { skipped, notes, credentials }: ImportPlan, isVerbose: boolean): void {
  if (skipped.length > 0) terminal.say('Skipped:');
  for (const { operation, path, reason } of skipped) terminal.say(`  ${operation} ${reason} ${terminal.style('dim', `(${path})`)}`);
  if (notes.length > 0) terminal.say('Done differently from what the document says:');
  for (const [note, places] of groupNotes(notes, isVerbose)) {
    terminal.say(`  ${note} ${terminal.style('dim', `(${places[0]}${places.length > 1 ? ` and ${places.length - 1} more` : ''})`)}`);
  }
  if (credentials.length > 0) terminal.say('The API asks its callers for (an admin gives a service its credential):');
  for (const credential of credentials) terminal.say(`  ${credential}`);
}

/** One of each kind: notes that differ only in names are of one kind. */
function groupNotes(notes: readonly Note[], isVerbose: boolean): [string, string[]][] {
  if (isVerbose) return notes.map(({ path, note }) => [note, [path]]);
  const groups = Map.groupBy(notes, ({ note }) =>
    note.replace(/(the parameter|the header|the cookie|also called|became|path's place|path parameter) \S+/g, '$1'),
  );
  return [...groups.values()].map((group) => [group[0]?.note ?? '', group.map(({ path }) => path)]);
}
