import { removedDefaults } from '../../../registry/describe.ts';
import { CliFailure } from '../../../registry/failure.ts';
import { clientOptions, credentialOption } from '../../../registry/import/credentials.ts';
import type { Loaded } from '../../../registry/import/join-files.ts';
import type { Note } from '../../../registry/import/node.ts';
import type { ImportPlan } from '../../../registry/import/plan.ts';
import type { CliContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';
import { changesAsJson, describeCount, requireSuccess, showApplied, showChanges, showKept, showUnwanted } from './changes.ts';
import type { ImportChoices } from './import-choices.ts';
import type { ImportOutcome, PlannedImport } from './import-document.ts';

const source = 'the document';

/**
 * Shows what an import is going to change, and asks before it removes intents.
 * @throws CliFailure if the admin does not confirm
 */
export async function reviewImport({ terminal }: CliContext, planned: PlannedImport, options: ImportChoices): Promise<void> {
  const { loaded, plan, documentVersion, changes } = planned;
  const { dryRun, prune: isPruning = false } = options;
  const hasIntents = plan.intents.length > 0;
  showFiles(terminal, loaded);
  if (hasIntents && dryRun) showChanges(terminal, changes, isPruning, source);
  showPlan(terminal, plan, options.verbose === true);
  if (!hasIntents) return;
  showKept(terminal, changes);
  if (plan.version !== documentVersion) terminal.say(describeVersion(plan, documentVersion));
  terminal.say(`${changes.name}: ${describeCount(changes, isPruning)}${plan.skipped.length > 0 ? `, ${plan.skipped.length} skipped` : ''}`);
  if (dryRun || !isPruning || changes.unwanted.length === 0) return;
  showUnwanted(terminal, changes, 'to remove', source);
  const what = changes.unwanted.length === 1 ? 'this intent' : `these ${changes.unwanted.length} intents`;
  await terminal.requireConfirmation(`Remove ${what} of ${changes.name}?`, options.yes);
}

/** @throws CliFailure if no operation was imported, one failed, or more were skipped than imported */
export function reportImport({ api, terminal, url }: CliContext, outcome: ImportOutcome, { dryRun, prune }: ImportChoices): void {
  const { loaded, plan, changes, applied } = outcome;
  const { intents, skipped, notes, credentials, credentialLocations, oauth } = plan;
  const { files } = loaded;
  if (intents.length === 0) {
    terminal.json({ files, skipped, notes });
    throw new CliFailure('failure', 'No operation in the document can be imported, so nothing was registered.');
  }
  const about = { files, skipped, notes, credentials, ...(oauth && { oauth }) };
  const result = { ...changesAsJson(changes), removed_defaults: removedDefaults(changes), ...about };
  if (applied === undefined) terminal.json(result);
  else {
    showApplied(terminal, changes.name, applied);
    showUnwanted(terminal, changes, prune ? 'removed' : 'kept', source);
    const options = applied.service_id === undefined ? [] : credentialLocations.map(credentialOption);
    const address = url === undefined ? [] : [`--url ${api.baseUrl}`];
    const command = ['intent-gate services credential set', applied.service_id, ...options, ...address].join(' ');
    if (options.length > 0) terminal.say(`Set the credential of the service with: npx ${command}`);
    const client = oauth && [
      'intent-gate services credential oauth',
      applied.service_id,
      ...clientOptions(oauth),
      '--client-id ID',
      ...address,
    ];
    if (client && applied.service_id !== undefined)
      terminal.say(`Or let the gate obtain tokens, as a client of the issuer: npx ${client.join(' ')}`);
    terminal.json({ ...result, applied, ...(options.length > 0 && { credential_command: command }) });
    requireSuccess([applied]);
  }
  if (skipped.length > intents.length)
    throw new CliFailure(
      'failure',
      `More operations ${dryRun ? 'would be' : 'were'} skipped (${skipped.length}) than imported (${intents.length}). The reasons are listed above.`,
    );
}

const describeVersion = ({ version, intents }: ImportPlan, documentVersion: string | undefined): string =>
  `The document has version ${documentVersion}, but the registered intents keep ${version}. --intent-version ${documentVersion} would create ${intents.length} new intents in addition; add --deprecate-older to mark those of ${version} as deprecated.`;

function showFiles(terminal: Terminal, { files, left }: Loaded): void {
  terminal.section('Read:', files.length > 1 ? files : []);
  if (left.length === 0) return;
  const shown = left.slice(0, 5).join(', ');
  terminal.remark(
    `The document refers to ${left.length === 1 ? 'a file that was' : `${left.length} files that were`} not read: ${shown}${left.length > 5 ? ', ...' : ''}. Import the folder that contains all parts, or give that folder with --with.`,
  );
}

function showPlan(terminal: Terminal, { skipped, notes, credentials }: ImportPlan, isVerbose: boolean): void {
  if (skipped.length > 0) terminal.say('Skipped:');
  for (const { operation, path, reason } of skipped) terminal.say(`  ${operation} ${reason} ${terminal.style('dim', `(${path})`)}`);
  if (notes.length > 0) terminal.say('Differences from the document:');
  for (const [note, places] of groupNotes(notes, isVerbose)) {
    terminal.say(`  ${note} ${terminal.style('dim', `(${places[0]}${places.length > 1 ? ` and ${places.length - 1} more` : ''})`)}`);
  }
  terminal.section('Credentials that the API requires, to be set for the service:', credentials);
}

/** Groups notes that differ only in names. */
function groupNotes(notes: readonly Note[], isVerbose: boolean): [string, string[]][] {
  if (isVerbose) return notes.map(({ path, note }) => [note, [path]]);
  const groups = Map.groupBy(notes, ({ note }) =>
    note.replace(/(the parameter|the header|the cookie|also called|became|path variable|path parameter) \S+/g, '$1'),
  );
  return [...groups.values()].map((group) => [group[0]?.note ?? '', group.map(({ path }) => path)]);
}
