import { pointer } from '../../functions/core/json/json.ts';
import { compileParameters } from '../../functions/core/parameters/compile.ts';
import type { Issue } from '../../schemas/errors.ts';
import { isRawNumber, numberText, parseExact } from '../../schemas/number.ts';
import type { Parameter } from '../../schemas/parameter.ts';

/** A form field: a parameter of an intent or operation, or a member of a record. */
export interface Field extends Parameter {
  /** default: the name */
  label?: string;
  /** default: the description and the type */
  hint?: string;
  /** labels for the values of `enum`; default: the values */
  labels?: readonly string[];
  /** `list`: comma-separated strings; `pairs`: the members of an object of strings; `secrets`: pairs with hidden values */
  control?: 'check' | 'list' | 'pairs' | 'secret' | 'secrets';
  /** folded among more settings unless it has a value */
  isRare?: boolean;
  /** path of the value in issues; default: the name */
  path?: readonly string[];
}

export const pathTo = ({ name, path = [name] }: Field): readonly string[] => path;

export const pathOf = (field: Field): string => pointer(pathTo(field));

/** The contents of fields by name. An empty field has no value. */
export type Typed = Record<string, string>;

interface ReadValues {
  values: Record<string, unknown>;
  issues: Issue[];
}

/** Parses fields to values by name, with an issue for each invalid one. */
export function readFields(fields: readonly Field[], typed: Typed): ReadValues {
  const values: Record<string, unknown> = {};
  const issues: Issue[] = [];
  for (const field of fields) {
    const text = typed[field.name] ?? '';
    if (text === '') continue;
    try {
      values[field.name] = readValue(field, text);
    } catch (error) {
      issues.push({ path: pathOf(field), problem: (error as Error).message });
    }
  }
  return { values, issues };
}

/** The fields of an intent's parameters. */
export const fieldsOf = (definitions: readonly Parameter[]): Field[] =>
  definitions.map((definition) => ({ ...definition, path: ['parameters', definition.name] }));

/**
 * Parses the parameters of an intent, and validates them with the gate's own rules. If a definition has a pattern, the pattern engine must be loaded.
 */
export function readParameters(definitions: readonly Parameter[], typed: Typed): ReadValues {
  const { values, issues: unread } = readFields(fieldsOf(definitions), typed);
  const missed = new Set(unread.map(({ path }) => path));
  const { issues = [] } = compileParameters(definitions)(values);
  return { values, issues: [...unread, ...issues.filter(({ path }) => !missed.has(path))] };
}

/** Problems of text that cannot be read, by type. */
const problems: Partial<Record<Parameter['type'], string>> = {
  number: 'must be a number, such as 3 or 2.5',
  integer: 'must be a number, such as 3 or 2.5',
  array: 'must be a list in JSON, such as ["a", "b"]',
  object: 'must be an object in JSON, such as {"a": 1}',
};

/** @throws Error whose message completes the sentence "the value ..." */
function readValue({ type, enum: choices, control }: Field, text: string): unknown {
  if (control === 'list') return text.split(',').flatMap((item) => item.trim() || []);
  if (type === 'string' && choices === undefined) return text;
  const isNumber = type === 'number' || type === 'integer';
  try {
    return parseExact(isNumber ? text.trim().replace(/^\+/, '') : text);
  } catch (cause) {
    if (type === 'any' && choices === undefined) return text;
    throw new Error(choices ? 'is none of the choices' : (problems[type] ?? 'must be true or false'), { cause });
  }
}

export function typeValue({ type, enum: choices, control }: Field, value: unknown): string {
  if (value === undefined || (control === 'check' && value === false)) return '';
  if (control === 'list' && Array.isArray(value)) return value.join(', ');
  if (typeof value === 'string' && choices === undefined && type !== 'any') return value;
  return JSON.stringify(value, null, isRawNumber(value) ? 0 : 2);
}

export const typeValues = (fields: readonly Field[], values: Record<string, unknown>): Typed =>
  Object.fromEntries(
    fields.flatMap((field) => (values[field.name] === undefined ? [] : [[field.name, typeValue(field, values[field.name])]])),
  );

/** Briefly describes the valid values. */
export function describeType(definition: Omit<Parameter, 'name'>): string {
  const { type, format, minimum, maximum, minLength, maxLength, pattern, default: usual } = definition;
  return [
    format ?? (type === 'any' ? 'any value' : type),
    ...(minimum === undefined ? [] : [`at least ${numberText(minimum)}`]),
    ...(maximum === undefined ? [] : [`at most ${numberText(maximum)}`]),
    ...(minLength === undefined ? [] : [`at least ${minLength} characters`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(pattern === undefined ? [] : [`matches ${pattern}`]),
    ...(usual === undefined ? [] : [`${JSON.stringify(usual)} if left out`]),
  ].join(', ');
}
