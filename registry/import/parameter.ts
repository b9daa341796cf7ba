import { checkDefinitions } from '../../functions/core/parameters/definitions.ts';
import { keywordNames } from '../../functions/core/parameters/keywords.ts';
import { type Parameter, parameter, parameterTypes } from '../../schemas/parameter.ts';
import type { Facts } from './facts.ts';
import type { AddNote } from './node.ts';
import { fitDescription, withDefault } from './text.ts';

export const maxParameters = 100;

/** Keeps as many items as are allowed, preferring required ones, in order. @param note - follows the number of dropped items */
export function keepMost<T>(items: readonly T[], isRequired: (item: T) => boolean, note: string, path: string, addNote: AddNote): T[] {
  const ranked = [...items.filter(isRequired), ...items.filter((item) => !isRequired(item))];
  if (items.length > maxParameters) addNote(path, `${items.length - maxParameters} ${note} ${maxParameters}`);
  const chosen = new Set(ranked.slice(0, maxParameters));
  return items.filter((item) => chosen.has(item));
}

const isType = (type: string): type is Parameter['type'] => (parameterTypes as readonly string[]).includes(type);

function chooseType({ types }: Facts, path: string, addNote: AddNote): Parameter['type'] {
  if (types === undefined) return 'any';
  const known = [...types].filter(isType);
  const values = known.filter((type) => type !== 'null');
  if (values.length === 0) return known.length > 0 ? 'null' : 'any';
  const [first, ...others] = values.includes('number') ? values.filter((type) => type !== 'integer') : values;
  if (first !== undefined && others.length === 0) return first;
  addNote(path, `may be ${values.join(' or ')}; a parameter has one type, so "any" was used`);
  return 'any';
}

const present = <T extends object>(members: T): Partial<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;

/**
 * Makes a parameter, leaving out and noting what the registry would refuse.
 * @param parent - JSON pointer to the parameter's parent
 * @param carrier - set for header fields, which have their own rules
 * @returns undefined if the name is not allowed
 */
export function makeParameter(
  name: string,
  isRequired: boolean,
  facts: Facts,
  parent: string,
  addNote: AddNote,
  carrier?: 'header',
): Parameter | undefined {
  const path = facts.path ?? parent;
  const type = chooseType(facts, path, addNote);
  const description = fitDescription(facts.description, path, addNote);
  // drop null, which the type excludes: optional values are omitted, and nullable ones say so in their schema
  const allowed = type === 'any' || type === 'null' ? facts.enum : facts.enum?.filter((value) => value !== null);
  const constraints = Object.fromEntries(keywordNames.map((name) => [name, facts[name]]));
  const candidate: Parameter = {
    name,
    type,
    ...(isRequired && { required: true }),
    ...present({ description, default: facts.default, ...constraints, enum: allowed, in: carrier }),
  };
  const accepted = reduceToAccepted(candidate, path, addNote);
  return accepted && describeDefault(accepted);
}

/**
 * Moves a document's default to the description: it says what the service assumes if the parameter is missing, so it is never sent. Only a required
 * header field with a single allowed value keeps one.
 */
export function describeDefault({ default: usual, ...parameter }: Parameter): Parameter {
  const { in: carrier, required, enum: allowed, description } = parameter;
  if (carrier === 'header' && required === true && allowed?.length === 1) return { ...parameter, default: allowed[0] };
  return usual === undefined || usual === null ? parameter : { ...parameter, description: withDefault(description, usual) };
}

function reduceToAccepted(candidate: Parameter, path: string, addNote: AddNote): Parameter | undefined {
  for (let current = candidate; ; ) {
    const [issue] = findIssues(current);
    if (issue === undefined) return { ...current, name: current.name.normalize('NFC') };
    const { member, problem } = issue;
    if (member === 'name' || member === 'type') return undefined;
    addNote(path, `${member} was left out; the registry refuses it: ${problem}`);
    const { [member as keyof Parameter]: _, ...rest } = current;
    current = rest as Parameter;
  }
}

function findIssues(candidate: Parameter): { member: string; problem: string }[] {
  const parsed = parameter.safeParse(candidate);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => ({ member: String(path[0]), problem: message }));
  return checkDefinitions({ input_parameters: [candidate], output_parameters: [] }).map(({ path, problem }) => ({
    member: path.split('/')[3] ?? '',
    problem,
  }));
}
