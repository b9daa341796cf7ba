import { canonicalText } from '../../../schemas/canonical.ts';
import { headerValue } from '../../../schemas/header.ts';
import { compareNumbers, isNumeric, isWhole, type Numeric, numberText } from '../../../schemas/number.ts';
import { type KeywordName, type Parameter, parameterTypes } from '../../../schemas/parameter.ts';
import { characters } from '../../../schemas/text.ts';
import { isObject } from '../json/json.ts';
import { formats } from './formats.ts';
import { compilePattern, type MatchingBudget, maxMatchedLength, openMatchingBudget, PatternError } from './pattern.ts';

/** Problems of a value, as sentences that begin with "must". */
export type Check = (value: unknown, budget?: MatchingBudget) => string[];

export const types: Record<Parameter['type'], ValueRule> = {
  string: { holds: (value) => typeof value === 'string', problem: 'must be a string' },
  number: { holds: isNumeric, problem: 'must be a number' },
  // JSON Schema does not distinguish 1.0 from 1
  integer: { holds: (value) => isNumeric(value) && isWhole(value), problem: 'must be an integer' },
  boolean: { holds: (value) => typeof value === 'boolean', problem: 'must be true or false' },
  array: { holds: Array.isArray, problem: 'must be an array' },
  object: { holds: isObject, problem: 'must be an object' },
  null: { holds: (value) => value === null, problem: 'must be null' },
  any: { holds: (value) => value !== undefined, problem: 'must be a value' },
};

const toNumber = (value: unknown): Numeric | undefined => (isNumeric(value) ? value : undefined);
const toLength = (value: unknown): number | undefined => (typeof value === 'string' ? characters(value) : undefined);
const toCount = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined);

/** Measure, comparison and message of each bound. Values of other types pass, as in JSON Schema. */
const bounds = {
  minimum: [toNumber, (order: number) => order >= 0, 'must be at least'],
  maximum: [toNumber, (order: number) => order <= 0, 'must be at most'],
  exclusiveMinimum: [toNumber, (order: number) => order > 0, 'must be greater than'],
  exclusiveMaximum: [toNumber, (order: number) => order < 0, 'must be less than'],
  minLength: [toLength, (order: number) => order >= 0, 'must have at least', 'characters'],
  maxLength: [toLength, (order: number) => order <= 0, 'must have at most', 'characters'],
  minItems: [toCount, (order: number) => order >= 0, 'must have at least', 'items'],
  maxItems: [toCount, (order: number) => order <= 0, 'must have at most', 'items'],
} as const;

type BoundName = keyof typeof bounds;

const boundNames = Object.keys(bounds) as BoundName[];

export interface ValueRule {
  holds: (value: unknown) => boolean;
  problem: string;
}

function compileBound(name: BoundName, bound: Numeric): ValueRule {
  const [measure, isRight, words, unit] = bounds[name];
  const holds = (value: unknown) => {
    const size = measure(value);
    return size === undefined || isRight(compareNumbers(size, bound));
  };
  return { holds, problem: [words, numberText(bound), ...(unit === undefined ? [] : [unit])].join(' ') };
}

export const compileBounds = (schema: { readonly [Name in BoundName]?: Numeric | undefined }): ValueRule[] =>
  boundNames.flatMap((name) => (schema[name] === undefined ? [] : compileBound(name, schema[name])));

/** The canonical texts of the allowed values, and the problem of any other value. */
export function compileEnum(allowed: readonly unknown[]): { texts: ReadonlySet<string>; problem: string } {
  const spellings = allowed.map((value) => JSON.stringify(value));
  const all = spellings.join(', ');
  const shown = spellings.slice(0, 10).join(', ').slice(0, 500);
  return {
    texts: new Set(allowed.map(canonicalText)),
    problem: `must be one of ${shown}${shown.length < all.length ? ' and others' : ''}`,
  };
}

const toCheck =
  ({ holds, problem }: ValueRule): Check =>
  (value) =>
    holds(value) ? [] : [problem];

const numeric: readonly Parameter['type'][] = ['number', 'integer', 'any'];
const textual: readonly Parameter['type'][] = ['string', 'any'];

/** The types that each keyword constrains. */
export const constrainedTypes: Record<KeywordName, readonly Parameter['type'][]> = {
  enum: parameterTypes,
  minimum: numeric,
  maximum: numeric,
  minLength: textual,
  maxLength: textual,
  pattern: textual,
  format: textual,
};

export const keywordNames = Object.keys(constrainedTypes) as KeywordName[];

const ofText = (holds: (text: string) => boolean, problem: string): Check =>
  toCheck({ holds: (value) => typeof value !== 'string' || holds(value), problem });

function compileEnumCheck(allowed: readonly unknown[]): Check {
  const { texts, problem } = compileEnum(allowed);
  return toCheck({ holds: (value) => texts.has(canonicalText(value)), problem });
}

function compilePatternCheck(pattern: string): Check {
  const { matches, size } = compilePattern(pattern);
  const mismatch = `must match the pattern ${pattern} and have at most ${maxMatchedLength} characters`;
  return (value, budget = openMatchingBudget()) => {
    if (typeof value !== 'string') return [];
    if (value.length > maxMatchedLength) return [mismatch];
    if (!budget.spend(size * value.length)) return [`must be shorter, because matching the pattern ${pattern} takes too long`];
    return matches(value) ? [] : [mismatch];
  };
}

/** The problem of a pattern, as a sentence that begins with "must"; undefined if it can be matched in linear time. */
export function findPatternProblem(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

export const mayBeHeader = (type: Parameter['type']): boolean => ['string', 'number', 'integer', 'boolean'].includes(type);

/** Numbers and booleans are written as JSON, which is always a valid field value. */
const checkField = ofText(
  (text) => headerValue.safeParse(text).success,
  'must be 1 to 4096 visible ASCII characters and spaces between them, because it is sent as a header field',
);

/**
 * Compiles all checks of a definition, whose pattern must be one that can be matched in linear time. A value of the wrong type has only that problem;
 * any other value has all that apply.
 */
export function compileDefinition(definition: Parameter): Check {
  const { enum: allowed, pattern, format } = definition;
  const type = types[definition.type];
  const checks = [
    definition.in === 'header' ? checkField : undefined,
    allowed && compileEnumCheck(allowed),
    ...compileBounds(definition).map(toCheck),
    pattern === undefined ? undefined : compilePatternCheck(pattern),
    format && ofText(formats[format].holds, `must be ${formats[format].description}`),
  ].filter((check) => check !== undefined);
  return (value, budget) => (type.holds(value) ? checks.flatMap((check) => check(value, budget)) : [type.problem]);
}
