import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import { concurrencyOption, isLoopback, openContext } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { readDocument } from '../import/document.ts';
import { fetchDocument } from '../import/fetch-document.ts';
import { loadFile } from '../import/load-file.ts';
import type { Note } from '../import/node.ts';
import type { ImportPlan } from '../import/plan.ts';
import { planImport } from '../import/plan-import.ts';
import { readInput } from '../input.ts';
import { applyChanges } from '../registry/apply.ts';
import { compareService } from '../registry/compare.ts';
import { requireService } from '../registry/read.ts';
import type { Terminal } from '../terminal.ts';
import { changesAsJson, describeCount, requireSuccess, showApplied, showChanges } from './changes.ts';

export function addImport(program: CommandUnknownOpts): void {
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
    .option(
      '--allow-origin <origin...>',
      "also import operations that lead to this origin, such as https://files.example.com, and not to the service's",
    )
    .option('--keep-deprecated', 'intents of deprecated operations can be executed all the same')
    .option('--draft', 'what is created is a draft, which agents do not see; intents that are there stay as they are')
    .option('--prune', 'also remove intents of the service that the document does not have')
    .option('-y, --yes', 'remove without asking')
    .addOption(concurrencyOption)
    .option('--allow-loopback', 'fetch the document, and let intents lead, to this machine; for local development')
    .option('--verbose', 'show every note, not one of each kind')
    .action(async (source, options, command) => {
      const context = openContext(command);
      const { api, terminal } = context;
      const { concurrency, service, dryRun = false, prune: isPruning = false, intentVersion: version } = options;
      if (version !== undefined && !/^v[0-9]+([.][0-9]+)*$/.test(version))
        throw usageFailure('--intent-version takes v and numbers separated by dots, for example v1.2.');
      const { namespace, name: serviceName, baseUrl, keepDeprecated = false } = options;
      const rules = chooseRules(api.baseUrl, baseUrl, options.allowLoopback);
      const into = service === undefined ? undefined : (await requireService(api, service)).record;
      const documentUrl = /^https?:\/\//i.test(source) ? source : undefined;
      const plan = planImport(await readSource(source, documentUrl, rules), {
        ...{ namespace, version, serviceName, baseUrl, documentUrl, keepDeprecated, rules },
        serviceUrl: into?.service_url,
        allowedOrigins: readOrigins(options.allowOrigin),
        registryUrl: api.baseUrl,
      });
      const intents = options.draft ? plan.intents.map((intent) => ({ ...intent, draft: true })) : plan.intents;
      const wanted = { service: plan.service, intents, into, keepsDrafts: true };
      const changes = await compareService(context, wanted, concurrency, dryRun);
      if (dryRun) showChanges(terminal, changes, isPruning);
      showPlan(terminal, plan, options.verbose === true);
      terminal.say(`${changes.name}: ${describeCount(changes, isPruning)}, ${plan.skipped.length} skipped`);
      const { skipped, notes, credentials, credentialOptions } = plan;
      const result = { ...changesAsJson(changes), skipped, notes, credentials };
      if (dryRun) return terminal.json(result);
      if (isPruning && changes.extra.length > 0)
        await terminal.requireConfirmation(`Remove ${changes.extra.length} intents of ${changes.name}?`, options.yes);
      const applied = await applyChanges(context, changes, concurrency, isPruning);
      showApplied(terminal, changes.name, applied);
      const credentialCommand = ['intent-gate services credential set', applied.service_id, ...credentialOptions].join(' ');
      if (credentialOptions.length > 0) terminal.say(`Set the credential of the service with: npx ${credentialCommand}`);
      terminal.json({ ...result, applied, ...(credentialOptions.length > 0 && { credential_command: credentialCommand }) });
      requireSuccess([applied]);
    });
}

function readOrigins(given: readonly string[] = []): string[] {
  return given.map((text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
      throw usageFailure('--allow-origin takes an origin without a path, for example https://files.example.com.');
    return url.origin;
  });
}

async function readSource(source: string, url: string | undefined, rules: EgressRules): Promise<unknown> {
  if (url !== undefined) return readDocument(await fetchDocument(url, rules));
  return source === '-' ? readInput(source) : loadFile(source);
}

/** Which ports are allowed is up to the deployment, so the port that is asked for is not checked here. */
function chooseRules(registryUrl: string, baseUrl = '', allowLoopback = false): EgressRules {
  const port = Number(URL.parse(baseUrl)?.port || 443);
  return { ports: [...new Set([443, port])], allowLoopback: allowLoopback || isLoopback(registryUrl), ownHosts: [] };
}

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
