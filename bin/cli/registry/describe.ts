import type { Kept, ServiceChanges } from './compare.ts';

/** The members of the service's own record that are to change. */
export const changedMembers = ({ service }: Pick<ServiceChanges, 'service'>): string[] => [
  ...new Set(service.differences.map(({ path }) => path.split('/')[1] ?? '')),
];

/**
 * Says of intents that the service has and its source does not what becomes of them; the uids follow. Command line and console say it in these words.
 * @param fate - whether they stay, are to be removed, or have been
 * @param source - what they are not in: "the document"
 */
export function describeGone(count: number, fate: 'stay' | 'go' | 'gone', source = 'the document'): string {
  const [noun, are, were] = count === 1 ? ['intent', 'is', 'was'] : ['intents', 'are', 'were'];
  const end = {
    stay: `and ${count === 1 ? 'stays' : 'stay'} (only --prune removes ${count === 1 ? 'it' : 'them'}):`,
    go: `and ${are} to be removed:`,
    gone: `and ${were} removed:`,
  }[fate];
  return `${count} ${noun} ${are} not in ${source} ${end}`;
}

/** Most uids that are named for one member. */
const maxNamed = 3;

/** What stays, whatever the document says, a line for each member; none if nothing does. Command line and console say it in these words. */
export function describeKept({ service, intents }: Kept): string[] {
  const byMember = Map.groupBy(
    intents.flatMap(({ intent_uid, members }) => members.map((member) => ({ intent_uid, member }))),
    ({ member }) => member,
  );
  return [
    ...service.map((member) => `${member.slice(1)} of the service`),
    ...[...byMember].map(([member, holders]) => {
      const named = holders.slice(0, maxNamed).map(({ intent_uid }) => intent_uid);
      const others = holders.length > maxNamed ? ` and ${holders.length - maxNamed} more` : '';
      return `${member.slice(1)} of ${named.join(', ')}${others}`;
    }),
  ];
}

export const keptTitle = 'Left as it is, since the document does not decide it:';
