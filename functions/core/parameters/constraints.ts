import { canonicalText } from '../../../schemas/canonical.ts';
import { fieldValue } from '../../../schemas/header.ts';
import { compareNumbers, isNumeric, isWhole, type Numeric, numberText } from '../../../schemas/number.ts';
import type { ConstraintName, ConstraintValue, Parameter } from '../../../schemas/parameter.ts';
import { characters } from '../../../schemas/text.ts';
import { isObject } from '../json.ts';
import { formats } from './formats.ts';
import { compilePattern, type MatchingBudget, maxMatchedLength, openMatchingBudget, PatternError } from './pattern.ts';

/** What is wrong with a value, as sentences that begin with "must"; none if nothing is. */
export type Check = (value: unknown, budget?: MatchingBudget) => string[];

interface TypeRule {
  holds: (value: unknown) => boolean;
  problem: string;
}

export const types: Record<Parameter['type'], TypeRule> = {
  string: { holds: (value) => typeof value === 'string', problem: 'must be a string' },
  number: { holds: isNumeric, problem: 'must be a number' },
  // JSON does not tell 1.0 from 1
  integer: { holds: (value) => isNumeric(value) && isWhole(value), problem: 'must be an integer' },
  boolean: { holds: (value) => typeof value === 'boolean', problem: 'must be true or false' },
  array: { holds: Array.isArray, problem: 'must be an array' },
  object: { holds: isObject, problem: 'must be an object' },
  null: { holds: (value) => value === null, problem: 'must be null' },
  any: { holds: (value) => value !== undefined, problem: 'must be a value' },
};

/** What a constraint of a parameter means. */
interface Constraint<Value> {
  /** the types to which it applies; all if not given */
  types?: readonly Parameter['type'][];
  /** what is wrong with the constraint itself, as a sentence that begins with "must" */
  findProblem?: (value: Value, definition: Parameter) => string | undefined;
  /** the check of values; compiled once, and never for a constraint that has a problem */
  compile: (value: Value) => Check;
}

/** A check for numbers only: other values pass, as in JSON Schema. */
const ofNumber =
  (holds: (value: Numeric) => boolean, problem: string): Check =>
  (value) =>
    !isNumeric(value) || holds(value) ? [] : [problem];

/** A check for strings only. */
const ofText =
  (holds: (text: string) => boolean, problem: string): Check =>
  (value) =>
    typeof value !== 'string' || holds(value) ? [] : [problem];

const numeric: readonly Parameter['type'][] = ['number', 'integer', 'any'];
const textual: readonly Parameter['type'][] = ['string', 'any'];

/** Every constraint that a parameter can have: registration checks definitions with it, and execution checks values. */
const constraints: { readonly [Name in ConstraintName]: Constraint<ConstraintValue<Name>> } = {
  enum: { compile: compileEnum },
  minimum: {
    types: numeric,
    findProblem: (minimum, { maximum = minimum }) =>
      compareNumbers(minimum, maximum) > 0 ? 'must not be greater than maximum' : undefined,
    compile: (minimum) => ofNumber((value) => compareNumbers(value, minimum) >= 0, `must be at least ${numberText(minimum)}`),
  },
  maximum: {
    types: numeric,
    compile: (maximum) => ofNumber((value) => compareNumbers(value, maximum) <= 0, `must be at most ${numberText(maximum)}`),
  },
  minLength: {
    types: textual,
    findProblem: (minLength, { maxLength = minLength }) => (minLength > maxLength ? 'must not be greater than maxLength' : undefined),
    compile: (minLength) => ofText((text) => characters(text) >= minLength, `must have at least ${minLength} characters`),
  },
  maxLength: {
    types: textual,
    compile: (maxLength) => ofText((text) => characters(text) <= maxLength, `must have at most ${maxLength} characters`),
  },
  pattern: { types: textual, findProblem: findPatternProblem, compile: compilePatternCheck },
  format: { types: textual, compile: (format) => ofText(formats[format].holds, `must be ${formats[format].description}`) },
};

export const constraintNames = Object.keys(constraints) as ConstraintName[];

function compileEnum(allowed: readonly unknown[]): Check {
  const spellings = allowed.map(canonicalText);
  const known = new Set(spellings);
  const shown = spellings.slice(0, 10).join(', ').slice(0, 500);
  const problem = `must be one of ${shown}${shown.length < spellings.join(', ').length ? ' and others' : ''}`;
  return (value) => (known.has(canonicalText(value)) ? [] : [problem]);
}

function compilePatternCheck(pattern: string): Check {
  const { matches, size } = compilePattern(pattern);
  const mismatch = `must match the pattern ${pattern} and have at most ${maxMatchedLength} characters`;
  return (value, budget = openMatchingBudget()) => {
    if (typeof value !== 'string') return [];
    if (value.length > maxMatchedLength) return [mismatch];
    if (!budget.spend(size * value.length)) return [`must be shorter, because the pattern ${pattern} takes long to match; so must others`];
    return matches(value) ? [] : [mismatch];
  };
}

/** What is wrong with a pattern, as a sentence that begins with "must"; undefined if it can be matched in linear time. */
export function findPatternProblem(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

/** A constraint of one definition, with its value filled in; undefined if the definition does not have it. */
function readConstraint<Name extends ConstraintName>(name: Name, definition: Parameter) {
  const value = definition[name];
  if (value === undefined) return undefined;
  const { types, findProblem, compile }: Constraint<ConstraintValue<Name>> = constraints[name];
  return {
    name,
    isMeant: types === undefined || types.includes(definition.type),
    findProblem: () => findProblem?.(value, definition),
    compile: () => compile(value),
  };
}

/** The constraints of a definition. */
export const constraintsOf = (definition: Parameter) =>
  constraintNames.map((name) => readConstraint(name, definition)).filter((constraint) => constraint !== undefined);

export const mayBeHeader = (type: Parameter['type']): boolean => ['string', 'number', 'integer', 'boolean'].includes(type);

/** Numbers, true and false are written as JSON, which is always the value of a field. */
const checkField = ofText(
  (text) => fieldValue.safeParse(text).success,
  'must be 1 to 4096 visible ASCII characters and spaces between them, because it is sent as a header field',
);

/** All checks of one definition. A value of the wrong type gets that one problem, every other value all the problems that apply. */
export function compileDefinition(definition: Parameter): Check {
  const type = types[definition.type];
  const checks = [...(definition.in === 'header' ? [checkField] : []), ...constraintsOf(definition).map(({ compile }) => compile())];
  return (value, budget) => (type.holds(value) ? checks.flatMap((check) => check(value, budget)) : [type.problem]);
}
