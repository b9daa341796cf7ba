import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { checkOrigin, type EgressRules } from '../../../functions/core/relay/egress.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { isStackAt, readDescription } from '../../local/stack-file.ts';
import { concurrencyOption, isLoopback, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { credentialOption } from '../import/credentials.ts';
import type { Loaded } from '../import/join-files.ts';
import { loadAddress, loadFile } from '../import/load-document.ts';
import type { Note } from '../import/node.ts';
import type { ImportPlan } from '../import/plan.ts';
import { planImport } from '../import/plan-import.ts';
import { readInput } from '../input.ts';
import { applyChanges } from '../registry/apply.ts';
import { compareService, readStanding } from '../registry/compare.ts';
import { openHeaders } from '../registry/document-rule.ts';
import { requireService } from '../registry/read.ts';
import { keepOlder, keepUids } from '../registry/versions.ts';
import type { Terminal } from '../terminal.ts';
import { changesAsJson, describeCount, requireSuccess, showApplied, showChanges, showGone, showKept } from './changes.ts';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

export function addImport(program: CommandUnknownOpts): void {
  program
    .command('import <document>')
    .description(
      'Register the operations of an OpenAPI 3.0 to 3.2, Swagger 2.0 or service description document: a file, the folder that holds it with its parts, an https address, or - for stdin',
    )
    .option('--with <folder>', 'also read the JSON and YAML files in this folder to which the document refers, or those below this address')
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--namespace <namespace>', "namespace of the intents; default: the API's host")
    .option(
      '--intent-version <version>',
      "version of the intents, such as v2; default: that of most of the service's intents, else the document's major version",
    )
    .option('--deprecate-older', 'mark intents of other versions as deprecated if they have a successor in the document')
    .option('--header <field>', "a header field that every call carries, such as 'Api-Version: 2'; may be repeated", collect)
    .option('--ignore-header <name>', 'a header parameter that is neither needed nor asked for; may be repeated', collect)
    .option('--base-url <url>', "the API's address, in place of what the document says")
    .option('--name <name>', 'name of the service; default: the one that it has, else the title of the document')
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
      const { namespace, name: serviceName, baseUrl, keepDeprecated = false, ignoreHeader: ignoreHeaders } = options;
      const rules = chooseRules(api.baseUrl, baseUrl, options.allowLoopback);
      const into = service === undefined ? undefined : (await requireService(api, service)).record;
      const documentUrl = /^https?:\/\//i.test(source) ? source : undefined;
      const loaded = await readSource(source, documentUrl, rules, options.with);
      const given = readHeaders(options.header);
      if (into !== undefined && options.header !== undefined)
        throw usageFailure('--service leaves the record of the service as it is. Set its header fields with "services update --header".');
      const planWith = (headers: Record<string, string>) =>
        planImport(loaded.document, {
          ...{ namespace, version, serviceName, baseUrl, documentUrl, keepDeprecated, rules, ignoreHeaders, headers },
          findsHeaders: into === undefined,
          serviceUrl: into?.service_url,
          allowedOrigins: readOrigins(options.allowOrigin),
          registryUrl: api.baseUrl,
        });
      const first = planWith(into?.headers ?? given);
      const standing = await readStanding(context, { ...first, into, isOfDocument: true }, concurrency);
      const kept = openHeaders(first.service, standing.service?.record);
      const planned = into === undefined && Object.keys(kept).length > 0 ? planWith({ ...kept, ...given }) : first;
      const notes = [...loaded.notes, ...planned.notes, ...findUnreachable(planned.intents, rules)];
      if (planned.intents.length === 0) {
        showFiles(terminal, loaded);
        showPlan(terminal, { ...planned, notes }, options.verbose === true);
        terminal.json({ files: loaded.files, skipped: planned.skipped, notes });
        throw new CliFailure('failure', 'The document has no operation that can become an intent, so nothing was registered.');
      }
      const plan = { ...keepUids(planned, standing.intents, version), notes };
      const intents = options.draft ? plan.intents.map((intent) => ({ ...intent, draft: true })) : plan.intents;
      const wanted = { service: first.service, intents, into, isOfDocument: true, isNamed: serviceName !== undefined };
      const compared = await compareService(context, wanted, concurrency, dryRun, standing);
      const changes = keepOlder(compared, plan.intents, standing.intents, options.deprecateOlder === true);
      showFiles(terminal, loaded);
      if (dryRun) showChanges(terminal, changes, isPruning, 'the document');
      showPlan(terminal, plan, options.verbose === true);
      showKept(terminal, changes);
      if (plan.version !== planned.version) terminal.say(describeKept(plan, planned));
      terminal.say(`${changes.name}: ${describeCount(changes, isPruning)}, ${plan.skipped.length} skipped`);
      const { skipped, credentials } = plan;
      const credentialOptions = plan.credentialPlaces.map(credentialOption);
      const result = { ...changesAsJson(changes), files: loaded.files, skipped, notes, credentials };
      if (dryRun) terminal.json(result);
      else {
        if (isPruning && changes.extra.length > 0) {
          showGone(terminal, changes, 'go', 'the document');
          const what = changes.extra.length === 1 ? 'this intent' : `these ${changes.extra.length} intents`;
          await terminal.requireConfirmation(`Remove ${what} of ${changes.name}?`, options.yes);
        }
        const applied = await applyChanges(context, changes, isPruning);
        showApplied(terminal, changes.name, applied);
        showGone(terminal, changes, isPruning ? 'gone' : 'stay', 'the document');
        const address = context.url === undefined ? [] : [`--url ${api.baseUrl}`];
        const credentialCommand = ['intent-gate services credential set', applied.service_id, ...credentialOptions, ...address].join(' ');
        if (credentialOptions.length > 0) terminal.say(`Set the credential of the service with: npx ${credentialCommand}`);
        terminal.json({ ...result, applied, ...(credentialOptions.length > 0 && { credential_command: credentialCommand }) });
        requireSuccess([applied]);
      }
      if (skipped.length > plan.intents.length)
        throw new CliFailure(
          'failure',
          `More operations were left out (${skipped.length}) than taken (${plan.intents.length}). See above why.`,
        );
    });
}

const describeKept = ({ version, intents }: ImportPlan, planned: ImportPlan): string =>
  `The document is of version ${planned.version}; the intents keep ${version}, as they are registered. --intent-version ${planned.version} would create ${intents.length} beside them, and with --deprecate-older mark those of ${version} as deprecated.`;

/** @throws CliFailure if an option is no header field */
function readHeaders(fields: readonly string[] = []): Record<string, string> {
  const read = fields.map((field): [string, string] => {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*[^ \t])[ \t]*$/.exec(field) ?? [];
    if (name === undefined || value === undefined) throw usageFailure("--header takes a name and a value, for example 'Api-Version: 2'.");
    return [name, value];
  });
  return Object.fromEntries(read);
}

function readOrigins(given: readonly string[] = []): string[] {
  return given.map((text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
      throw usageFailure('--allow-origin takes an origin without a path, for example https://files.example.com.');
    return url.origin;
  });
}

/** What this registry takes because it is a local one, and a deployment does not. */
function findUnreachable(intents: readonly IntentInput[], rules: EgressRules): Note[] {
  if (!rules.allowLoopback) return [];
  const origins = intents.map(({ endpoint }) => /^[^/]*\/\/[^/?#]*/.exec(endpoint.url)?.[0] ?? endpoint.url);
  return [...new Set(origins)]
    .filter((origin) => URL.canParse(origin) && !isLoopback(origin))
    .flatMap((origin) =>
      checkOrigin(origin, { ...rules, allowLoopback: false }).map((problem) => ({
        path: '/servers',
        note: `a deployment would refuse ${origin}: it ${problem}`,
      })),
    );
}

async function readSource(source: string, url: string | undefined, rules: EgressRules, parts: string | undefined): Promise<Loaded> {
  if (url !== undefined) return loadAddress(url, rules, parts);
  return source === '-' ? { document: await readInput(source), notes: [], files: [], left: [] } : loadFile(source, parts);
}

/** Which ports are allowed is up to the deployment, so the port that is asked for is not checked here. */
function chooseRules(registryUrl: string, baseUrl = '', allowLoopback = false): EgressRules {
  const port = Number(URL.parse(baseUrl)?.port || 443);
  const stack = readDescription();
  const localUpstreams = stack !== undefined && isStackAt(stack, registryUrl) ? (stack.local_upstreams ?? []) : [];
  return { ports: [...new Set([443, port])], allowLoopback: allowLoopback || isLoopback(registryUrl), localUpstreams, ownHosts: [] };
}

/** Every file that anything may have been taken from, and how to have the others read. */
function showFiles(terminal: Terminal, { files, left }: Loaded): void {
  if (files.length > 1) terminal.say('Read:');
  if (files.length > 1) for (const file of files) terminal.say(`  ${file}`);
  if (left.length === 0) return;
  const shown = left.slice(0, 5).join(', ');
  terminal.remark(
    `The document refers to ${left.length === 1 ? 'a file that was' : `${left.length} files that were`} not read: ${shown}${left.length > 5 ? ', ...' : ''}. Give the folder that holds all of it, or name it with --with.`,
  );
}

function showPlan(
  terminal: Terminal,
  { skipped, notes, credentials }: Pick<ImportPlan, 'skipped' | 'notes' | 'credentials'>,
  isVerbose: boolean,
): void {
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
