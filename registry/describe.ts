import type { Kept, ServiceChanges } from './compare.ts';

export const changedMembers = ({ service }: Pick<ServiceChanges, 'service'>): string[] => [
  ...new Set(service.differences.map(({ path }) => path.split('/')[1] ?? '')),
];

/**
 * The sentence that introduces uids of intents no longer in the source, for the command line and the console.
 * @param source - such as "the document"
 * @param hint - how to remove them
 */
export function describeUnwanted(count: number, what: 'kept' | 'to remove' | 'removed', source = 'the document', hint = ''): string {
  const [noun, are, were] = count === 1 ? ['intent', 'is', 'was'] : ['intents', 'are', 'were'];
  const end = {
    kept: `and ${are} kept${hint}:`,
    'to remove': 'and will be removed:',
    removed: `and ${were} removed:`,
  }[what];
  return `${count} ${noun} ${are} not in ${source} ${end}`;
}

const maxNamed = 3;

/** A line for each kept member, for the command line and the console. */
export function describeKept({ service, intents }: Kept): string[] {
  const byMember = Map.groupBy(
    intents.flatMap(({ intent_uid, members }) => members.map((member) => ({ intent_uid, member }))),
    ({ member }) => member,
  );
  return [
    ...service.map((member) => `${member.slice(1)} of the service`),
    ...[...byMember].map(([member, intentsWithIt]) => {
      const named = intentsWithIt.slice(0, maxNamed).map(({ intent_uid }) => intent_uid);
      const others = intentsWithIt.length > maxNamed ? ` and ${intentsWithIt.length - maxNamed} more` : '';
      return `${member.slice(1)} of ${named.join(', ')}${others}`;
    }),
  ];
}

export const keptTitle = 'Kept as they are, because you decide them or the document does not set them:';
