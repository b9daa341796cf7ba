import type { IntentInput } from '../schemas/intent.ts';
import type { Parameter } from '../schemas/parameter.ts';
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

/** Whether calls send the default of an input that the caller leaves out, other than the only value that a required header field may have. */
const sendsDefault = ({ default: usual, in: carrier, required, enum: allowed }: Parameter): boolean =>
  usual !== undefined && !(carrier === 'header' && required === true && allowed?.length === 1);

export const hasDefaults = ({ input_parameters: inputs }: Pick<IntentInput, 'input_parameters'>): boolean => inputs.some(sendsDefault);

/** Defaults of registered inputs that an import removes. */
export const removedDefaults = ({ intents }: Pick<ServiceChanges, 'intents'>) =>
  intents.flatMap(({ input: { intent_uid }, differences }) =>
    differences.flatMap(({ path, before, after }) => {
      const [, list, name = '', member, ...inside] = path.split('/');
      if (list !== 'input_parameters' || member !== 'default' || inside.length > 0 || after !== undefined) return [];
      return [{ intent_uid, parameter: name.replaceAll('~1', '/').replaceAll('~0', '~'), value: before }];
    }),
  );

export const defaultsTitle = 'Defaults that are no longer sent, because the document only says what the service assumes:';

const maxValueLength = 60;

/** A value as JSON, cut to 60 UTF-16 units. */
export function quoteValue(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength - 1)}…`;
}

/** A line for each removed default, for the command line and the console. */
export const describeDefaults = (changes: Pick<ServiceChanges, 'intents'>): string[] =>
  removedDefaults(changes).map(({ intent_uid, parameter, value }) => `${parameter} of ${intent_uid}: ${quoteValue(value)}`);

/** What an admin should know of intents that call other origins than that of their service. */
export const describeOtherOrigins = ({ name, otherOrigins }: Pick<ServiceChanges, 'name' | 'otherOrigins'>): string[] =>
  otherOrigins.map(
    (origin) =>
      `Some intents of ${name} call ${origin}, which is not the origin of its service_url. The credential is sent there only if its origins include it.`,
  );
