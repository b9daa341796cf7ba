import { setFlagsFromString } from 'node:v8';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { checkOrigin, type EgressRules } from '../../../functions/core/relay/egress.ts';
import { originOf } from '../../../functions/core/relay/url-template.ts';
import { applyChanges } from '../../../registry/apply.ts';
import { compareDocument } from '../../../registry/compare-document.ts';
import { removedDefaults } from '../../../registry/describe.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { credentialOption } from '../../../registry/import/credentials.ts';
import { openReader } from '../../../registry/import/document.ts';
import type { Loaded } from '../../../registry/import/join-files.ts';
import { loadAddress, loadFile } from '../../../registry/import/load-document.ts';
import type { Note } from '../../../registry/import/node.ts';
import type { ImportPlan } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import { readText } from '../../../registry/input.ts';
import { requireService } from '../../../registry/read.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { isStackAt, readDescription } from '../../local/stack-file.ts';
import { collect, concurrencyOption, isLoopback, openContext, readHeaders } from '../context.ts';
import type { Terminal } from '../terminal.ts';
import { changesAsJson, describeCount, requireSuccess, showApplied, showChanges, showKept, showUnwanted } from './changes.ts';

export function addImport(program: CommandUnknownOpts): void {
  program
    .command('import <document>')
    .description(
      'Register the operations in an OpenAPI 3.0 to 3.2, Swagger 2.0 or service description document: a file, a folder with the document and its parts, an https address, or - for stdin',
    )
    .option('--with <folder>', 'also read JSON and YAML files that the document refers to, in this folder or below this address')
    .option('--large', 'read more than 20 MB of JSON or 5 MB of YAML, which can take gigabytes of memory')
    .option('--dry-run', 'show the changes without making them')
    .option('--namespace <namespace>', "namespace for the intents; default: that of the registered operations, else the API's host")
    .option(
      '--intent-version <version>',
      "version for the intents, such as v2; default: the one that most of the service's intents have, else the document's major version",
    )
    .option('--deprecate-older', 'mark older versions as deprecated if they have a successor in the document')
    .option('--header <field>', "header field to send with every call, such as 'Api-Version: 2'; may be repeated", collect)
    .option('--ignore-header <name>', 'header parameter to leave out; may be repeated', collect)
    .option('--base-url <url>', "address of the API, replacing the document's own servers")
    .option('--name <name>', 'name of the service; default: its current name, else the title of the document')
    .option('--service <service>', 'add to this service (service_id or name) without changing its record')
    .option('--allow-origin <origin...>', 'also import operations at this origin, such as https://files.example.com')
    .option('--keep-deprecated', 'import deprecated operations as usable')
    .option('--draft', 'create intents as drafts, which agents cannot see; existing intents keep their state')
    .option('--prune', 'also remove intents of the service that are not in the document')
    .option('-y, --yes', 'do not ask for confirmation')
    .addOption(concurrencyOption)
    .option('--allow-loopback', 'allow the document and the API to be on this machine; for local development')
    .option('--verbose', 'show every note instead of one of each kind')
    .action(async (source, options, command) => {
      const context = openContext(command);
      const { api, terminal } = context;
      const { concurrency, service, dryRun = false, prune: isPruning = false, intentVersion: version } = options;
      if (version !== undefined && !/^v[0-9]+([.][0-9]+)*$/.test(version))
        throw usageFailure('--intent-version needs v and numbers separated by dots, for example v1.2.');
      const { namespace, name: serviceName, baseUrl, keepDeprecated = false, ignoreHeader: ignoreHeaders } = options;
      const rules = chooseRules(api.baseUrl, baseUrl, options.allowLoopback);
      const into = service === undefined ? undefined : (await requireService(api, service)).record;
      const documentUrl = /^https?:\/\//i.test(source) ? source : undefined;
      const loaded = await readSource(source, documentUrl, rules, options.with, options.large);
      if (into !== undefined && options.header !== undefined)
        throw usageFailure(
          '--header cannot be combined with --service, which does not change the record of the service. Use "services update --header" instead.',
        );
      const planWith = (headers: Record<string, string>) =>
        planImport(loaded.document, {
          ...{ namespace, version, serviceName, baseUrl, documentUrl, keepDeprecated, rules, ignoreHeaders, headers },
          findsHeaders: into === undefined,
          serviceUrl: into?.service_url,
          allowedOrigins: readOrigins(options.allowOrigin),
          registryUrl: api.baseUrl,
          progress: terminal.progress,
        });
      const { planned, changes, ...found } = await compareDocument(context, planWith, {
        into,
        headers: readHeaders(options.header),
        version,
        namespace,
        isNamed: serviceName !== undefined,
        isDraft: options.draft,
        isDeprecating: options.deprecateOlder,
        isThorough: dryRun,
        concurrency,
      });
      const notes = [...loaded.notes, ...planned.notes, ...findUnreachable(planned.intents, rules)];
      const plan = { ...found.plan, notes };
      if (plan.intents.length === 0) {
        showFiles(terminal, loaded);
        showPlan(terminal, plan, options.verbose === true);
        terminal.json({ files: loaded.files, skipped: plan.skipped, notes });
        throw new CliFailure('failure', 'No operation in the document can be imported, so nothing was registered.');
      }
      showFiles(terminal, loaded);
      if (dryRun) showChanges(terminal, changes, isPruning, 'the document');
      showPlan(terminal, plan, options.verbose === true);
      showKept(terminal, changes);
      if (plan.version !== planned.version) terminal.say(describeKept(plan, planned));
      terminal.say(`${changes.name}: ${describeCount(changes, isPruning)}, ${plan.skipped.length} skipped`);
      const { skipped, credentials } = plan;
      const result = {
        ...changesAsJson(changes),
        removed_defaults: removedDefaults(changes),
        files: loaded.files,
        skipped,
        notes,
        credentials,
      };
      if (dryRun) terminal.json(result);
      else {
        if (isPruning && changes.unwanted.length > 0) {
          showUnwanted(terminal, changes, 'to remove', 'the document');
          const what = changes.unwanted.length === 1 ? 'this intent' : `these ${changes.unwanted.length} intents`;
          await terminal.requireConfirmation(`Remove ${what} of ${changes.name}?`, options.yes);
        }
        const applied = await applyChanges(context, changes, isPruning);
        showApplied(terminal, changes.name, applied);
        showUnwanted(terminal, changes, isPruning ? 'removed' : 'kept', 'the document');
        const credentialOptions = applied.service_id === undefined ? [] : plan.credentialLocations.map(credentialOption);
        const address = context.url === undefined ? [] : [`--url ${api.baseUrl}`];
        const credentialCommand = ['intent-gate services credential set', applied.service_id, ...credentialOptions, ...address].join(' ');
        if (credentialOptions.length > 0) terminal.say(`Set the credential of the service with: npx ${credentialCommand}`);
        terminal.json({ ...result, applied, ...(credentialOptions.length > 0 && { credential_command: credentialCommand }) });
        requireSuccess([applied]);
      }
      if (skipped.length > plan.intents.length)
        throw new CliFailure(
          'failure',
          `More operations ${dryRun ? 'would be' : 'were'} skipped (${skipped.length}) than imported (${plan.intents.length}). The reasons are listed above.`,
        );
    });
}

const describeKept = ({ version, intents }: ImportPlan, planned: ImportPlan): string =>
  `The document has version ${planned.version}, but the registered intents keep ${version}. --intent-version ${planned.version} would create ${intents.length} new intents in addition; add --deprecate-older to mark those of ${version} as deprecated.`;

function readOrigins(given: readonly string[] = []): string[] {
  return given.map((text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
      throw usageFailure('--allow-origin needs an origin without a path, for example https://files.example.com.');
    return url.origin;
  });
}

/** Notes origins that only a local gate accepts. */
function findUnreachable(intents: readonly IntentInput[], rules: EgressRules): Note[] {
  if (!rules.allowLoopback) return [];
  return [...new Set(intents.flatMap(({ endpoint }) => originOf(endpoint.url) ?? []))]
    .filter((origin) => !isLoopback(origin))
    .flatMap((origin) =>
      checkOrigin(origin, { ...rules, allowLoopback: false }).map((problem) => ({
        path: '/servers',
        note: `a deployment would refuse ${origin}: it ${problem}`,
      })),
    );
}

async function readSource(source: string, url: string | undefined, rules: EgressRules, parts?: string, isLarge?: true): Promise<Loaded> {
  // young garbage would otherwise take more memory than a large document
  setFlagsFromString('--semi-space-growth-factor=1');
  if (url !== undefined) return loadAddress(url, rules, parts, isLarge);
  if (source !== '-') return loadFile(source, parts, isLarge);
  return { document: openReader(isLarge)(await readText(source)), notes: [], files: [], left: [] };
}

/** Allows the port in `baseUrl`, because only the deployment knows which ports it accepts. */
function chooseRules(registryUrl: string, baseUrl = '', allowLoopback = false): EgressRules {
  const port = Number(URL.parse(baseUrl)?.port || 443);
  const stack = readDescription();
  const localUpstreams = stack !== undefined && isStackAt(stack, registryUrl) ? (stack.local_upstreams ?? []) : [];
  return { ports: [...new Set([443, port])], allowLoopback: allowLoopback || isLoopback(registryUrl), localUpstreams, ownHosts: [] };
}

function showFiles(terminal: Terminal, { files, left }: Loaded): void {
  if (files.length > 1) terminal.say('Read:');
  if (files.length > 1) for (const file of files) terminal.say(`  ${file}`);
  if (left.length === 0) return;
  const shown = left.slice(0, 5).join(', ');
  terminal.remark(
    `The document refers to ${left.length === 1 ? 'a file that was' : `${left.length} files that were`} not read: ${shown}${left.length > 5 ? ', ...' : ''}. Import the folder that contains all parts, or give that folder with --with.`,
  );
}

function showPlan(
  terminal: Terminal,
  { skipped, notes, credentials }: Pick<ImportPlan, 'skipped' | 'notes' | 'credentials'>,
  isVerbose: boolean,
): void {
  if (skipped.length > 0) terminal.say('Skipped:');
  for (const { operation, path, reason } of skipped) terminal.say(`  ${operation} ${reason} ${terminal.style('dim', `(${path})`)}`);
  if (notes.length > 0) terminal.say('Differences from the document:');
  for (const [note, places] of groupNotes(notes, isVerbose)) {
    terminal.say(`  ${note} ${terminal.style('dim', `(${places[0]}${places.length > 1 ? ` and ${places.length - 1} more` : ''})`)}`);
  }
  if (credentials.length > 0) terminal.say('Credentials that the API requires, to be set for the service:');
  for (const credential of credentials) terminal.say(`  ${credential}`);
}

/** Groups notes that differ only in names. */
function groupNotes(notes: readonly Note[], isVerbose: boolean): [string, string[]][] {
  if (isVerbose) return notes.map(({ path, note }) => [note, [path]]);
  const groups = Map.groupBy(notes, ({ note }) =>
    note.replace(/(the parameter|the header|the cookie|also called|became|path variable|path parameter) \S+/g, '$1'),
  );
  return [...groups.values()].map((group) => [group[0]?.note ?? '', group.map(({ path }) => path)]);
}
