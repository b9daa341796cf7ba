import { pointer } from '../../../functions/core/json.ts';
import { compileParameters } from '../../../functions/core/parameters/compile.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { parseExact } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';

/** What is typed into the fields, by the names of parameters. A field without text gives no value. */
export type Typed = Record<string, string>;

export interface ReadValues {
  parameters: Record<string, unknown>;
  issues: Issue[];
}

/**
 * The values that the fields stand for, and what is wrong with them: found by the gate's own rules, so that they are not sent in vain.
 * The engine of patterns has to be loaded if a definition has a pattern.
 */
export function readValues(definitions: readonly Parameter[], typed: Typed): ReadValues {
  const parameters: Record<string, unknown> = {};
  const unread: Issue[] = [];
  for (const definition of definitions) {
    const { name } = definition;
    const text = typed[name] ?? '';
    if (text === '') continue;
    try {
      parameters[name] = readValue(definition, text);
    } catch (error) {
      unread.push({ path: pointer(['parameters', name]), problem: (error as Error).message });
    }
  }
  const missed = new Set(unread.map(({ path }) => path));
  const { issues = [] } = compileParameters(definitions)(parameters);
  return { parameters, issues: [...unread, ...issues.filter(({ path }) => !missed.has(path))] };
}

/** @throws Error whose message ends the sentence "the value ..." */
function readValue({ type, enum: choices }: Parameter, text: string): unknown {
  if (choices !== undefined) return parseJson(text, 'is none of the choices');
  switch (type) {
    case 'string':
      return text;
    case 'any':
      try {
        return parseExact(text);
      } catch {
        return text;
      }
    case 'number':
    case 'integer':
      return parseJson(text.trim().replace(/^\+/, ''), 'must be a number, such as 3 or 2.5');
    case 'array':
      return parseJson(text, 'must be a list in JSON, such as ["a", "b"]');
    case 'object':
      return parseJson(text, 'must be an object in JSON, such as {"a": 1}');
    default:
      return parseJson(text, 'must be true or false');
  }
}

function parseJson(text: string, problem: string): unknown {
  try {
    return parseExact(text);
  } catch (cause) {
    throw new Error(problem, { cause });
  }
}

/** What the fields contain for these values. */
export const typeValues = (definitions: readonly Parameter[], values: Record<string, unknown>): Typed =>
  Object.fromEntries(
    definitions.flatMap(({ name, type, enum: choices }) => {
      const value = values[name];
      if (value === undefined) return [];
      return [[name, typeof value === 'string' && choices === undefined && type !== 'any' ? value : JSON.stringify(value)]];
    }),
  );

/** Values that show what a parameter takes: its default, its first choice, or a plain one of its type. */
export function exampleValues(definitions: readonly Parameter[]): Record<string, unknown> {
  return Object.fromEntries(definitions.filter(({ required }) => required).map((definition) => [definition.name, exampleOf(definition)]));
}

const plain: Record<Parameter['type'], unknown> = {
  string: '…',
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
  null: null,
  any: '…',
};

const exampleOf = ({ default: usual, enum: choices, minimum, type }: Parameter): unknown => usual ?? choices?.[0] ?? minimum ?? plain[type];
