import type { Applied } from '../../../registry/apply.ts';
import type { ServiceChanges } from '../../../registry/compare.ts';
import {
  changedMembers,
  defaultsTitle,
  describeDefaults,
  describeKept,
  describeOtherOrigins,
  describeUnwanted,
  keptTitle,
  quoteValue,
} from '../../../registry/describe.ts';
import type { Difference } from '../../../registry/differences.ts';
import { CliFailure } from '../../../registry/failure.ts';
import { plural, type Terminal } from '../terminal.ts';

export function showDifferences(terminal: Terminal, differences: readonly Difference[]): void {
  for (const { path, before, after } of differences) terminal.say(`      ${path}: ${quoteValue(before)} -> ${quoteValue(after)}`);
}

export function showChanges(terminal: Terminal, changes: ServiceChanges, isPruning: boolean, source: string): void {
  const { name, serviceId, service, intents, foreign } = changes;
  const state = { create: 'will be created', update: 'will be changed', same: 'is unchanged' }[service.kind];
  terminal.say(`${terminal.style('bold', name)}${serviceId === undefined ? '' : ` (${serviceId})`} ${state}`);
  showDifferences(terminal, service.differences);
  for (const { kind, input, differences } of intents) {
    terminal.say(
      `  ${kind === 'create' ? terminal.style('green', '+') : terminal.style('yellow', '~')} ${input.intent_uid}  ${input.intent_name}`,
    );
    showDifferences(terminal, differences);
  }
  for (const uid of foreign) terminal.say(`  ${terminal.style('red', '!')} ${uid}  belongs to another service`);
  showUnwanted(terminal, changes, isPruning ? 'to remove' : 'kept', source);
}

export function showUnwanted(
  terminal: Terminal,
  { unwanted }: ServiceChanges,
  what: 'kept' | 'to remove' | 'removed',
  source: string,
): void {
  if (unwanted.length === 0) return;
  terminal.say(describeUnwanted(unwanted.length, what, source, ` (use --prune to remove ${unwanted.length === 1 ? 'it' : 'them'})`));
  for (const uid of unwanted) terminal.say(`  ${what === 'kept' ? ' ' : terminal.style('red', '-')} ${uid}`);
}

/** What an import of a document keeps, and the defaults that it removes. */
export function showKept(terminal: Terminal, changes: ServiceChanges): void {
  terminal.section(keptTitle, describeKept(changes.kept));
  terminal.section(defaultsTitle, describeDefaults(changes));
}

export function describeCount(changes: ServiceChanges, isPruning: boolean): string {
  const { service, intents, unchanged, unwanted, foreign } = changes;
  const created = intents.filter(({ kind }) => kind === 'create').length;
  const counts = {
    'to create': created,
    'to change': intents.length - created,
    'to remove': isPruning ? unwanted.length : 0,
    unchanged,
    'owned by another service': foreign.length,
  };
  const parts = [
    ...Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : [])),
    ...(service.kind === 'update' ? [`service record to change (${changedMembers(changes).join(', ')})`] : []),
  ];
  return parts.join(', ') || 'nothing to change';
}

export const changesAsJson = ({ name, serviceId, service, intents, unchanged, unwanted, foreign, kept, otherOrigins }: ServiceChanges) => ({
  service_name: name,
  service_id: serviceId ?? null,
  service: { change: service.kind, differences: service.differences },
  create: intents.filter(({ kind }) => kind === 'create').map(({ input }) => input.intent_uid),
  update: intents.filter(({ kind }) => kind === 'update').map(({ input, differences }) => ({ intent_uid: input.intent_uid, differences })),
  extra: unwanted,
  foreign,
  unchanged,
  kept,
  other_origins: otherOrigins,
});

export function noteOtherOrigins(terminal: Terminal, changes: ServiceChanges): void {
  for (const sentence of describeOtherOrigins(changes)) terminal.remark(sentence);
}

export function showApplied(terminal: Terminal, name: string, applied: Applied): void {
  const { created, updated, removed, failed, refused, service_changed } = applied;
  for (const { intent_uid, message, issues } of refused ? [{ intent_uid: name, ...refused }] : failed) {
    terminal.say(`  ${terminal.style('red', '!')} ${intent_uid}: ${message}`);
    for (const { path, problem } of issues) terminal.say(`      ${path || '/'} ${problem}`);
  }
  if (refused) return;
  terminal.say(
    `${terminal.style('bold', name)}: ${created} created, ${updated} changed, ${removed} removed${failed.length > 0 ? `, ${failed.length} failed` : ''}${service_changed ? `, service record changed (${service_changed.join(', ')})` : ''}`,
  );
}

export function requireSuccess(applied: readonly Applied[]): void {
  const count = applied.reduce((sum, { failed }) => sum + failed.length, 0);
  const services = applied.filter(({ refused }) => refused).length;
  const what = [...(services > 0 ? [plural(services, 'service')] : []), ...(count > 0 ? [plural(count, 'intent')] : [])];
  if (what.length > 0)
    throw new CliFailure(
      'failure',
      `${what.join(' and ')} failed; all other changes were made. Fix the problems and run the command again.`,
    );
}
