import canonicalize from 'canonicalize';
import type { Parameter } from '../../../schemas/parameter.ts';
import { characters } from '../../../schemas/text.ts';
import { isObject } from '../json.ts';
import { formats } from './formats.ts';
import { compilePattern, maxMatchedLength } from './pattern.ts';

/** What is wrong with a value, as sentences that begin with "must"; none where nothing is. */
export type Check = (value: unknown) => string[];

interface TypeRule {
  holds: (value: unknown) => boolean;
  problem: string;
}

export const types: Record<Parameter['type'], TypeRule> = {
  string: { holds: (value) => typeof value === 'string', problem: 'must be a string' },
  number: { holds: (value) => typeof value === 'number', problem: 'must be a number' },
  // JSON does not tell 1.0 from 1; beyond 2^53 a JSON reader no longer sees the number that was written.
  integer: { holds: Number.isSafeInteger, problem: 'must be an integer from -9007199254740991 to 9007199254740991' },
  boolean: { holds: (value) => typeof value === 'boolean', problem: 'must be true or false' },
  array: { holds: Array.isArray, problem: 'must be an array' },
  object: { holds: isObject, problem: 'must be an object' },
  null: { holds: (value) => value === null, problem: 'must be null' },
  any: { holds: (value) => value !== undefined, problem: 'must be a value' },
};

/** All checks of one definition. A value of the wrong type gets that one problem, every other value all that apply. */
export function compileDefinition(definition: Parameter): Check {
  const type = types[definition.type];
  const checks = [...allowedValues(definition), ...bounds(definition), ...lengths(definition), ...texts(definition)];
  return (value) => (type.holds(value) ? checks.flatMap((check) => check(value)) : [type.problem]);
}

function allowedValues({ enum: allowed }: Parameter): Check[] {
  if (allowed === undefined) return [];
  const spellings = allowed.map((value) => canonicalize(value) ?? '');
  const known = new Set(spellings);
  const shown = spellings.slice(0, 10).join(', ').slice(0, 500);
  const problem = `must be one of ${shown}${shown.length < spellings.join(', ').length ? ' and others' : ''}`;
  return [(value) => (known.has(canonicalize(value) ?? '') ? [] : [problem])];
}

/** A check of numbers alone: other values pass, as JSON Schema has it. */
const ofNumber =
  (holds: (value: number) => boolean, problem: string): Check =>
  (value) =>
    typeof value !== 'number' || holds(value) ? [] : [problem];

/** A check of strings alone. */
const ofText =
  (holds: (text: string) => boolean, problem: string): Check =>
  (value) =>
    typeof value !== 'string' || holds(value) ? [] : [problem];

const bounds = ({ minimum, maximum }: Parameter): Check[] => [
  ...(minimum === undefined ? [] : [ofNumber((value) => value >= minimum, `must be at least ${minimum}`)]),
  ...(maximum === undefined ? [] : [ofNumber((value) => value <= maximum, `must be at most ${maximum}`)]),
];

const lengths = ({ minLength, maxLength }: Parameter): Check[] => [
  ...(minLength === undefined ? [] : [ofText((text) => characters(text) >= minLength, `must have at least ${minLength} characters`)]),
  ...(maxLength === undefined ? [] : [ofText((text) => characters(text) <= maxLength, `must have at most ${maxLength} characters`)]),
];

function texts({ pattern, format }: Parameter): Check[] {
  const checks: Check[] = [];
  if (pattern !== undefined) {
    const matches = compilePattern(pattern);
    const isMatched = (text: string) => text.length <= maxMatchedLength && matches(text);
    checks.push(ofText(isMatched, `must match the pattern ${pattern} and have at most ${maxMatchedLength} characters`));
  }
  if (format !== undefined) checks.push(ofText(formats[format].holds, `must be ${formats[format].description}`));
  return checks;
}
