import type { Issue } from '../../../schemas/errors.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { pointer } from '../json.ts';
import { compileDefinition } from './constraints.ts';
import { compilePattern, PatternError } from './pattern.ts';

const numeric: readonly Parameter['type'][] = ['number', 'integer', 'any'];
const textual: readonly Parameter['type'][] = ['string', 'any'];

/** The types that each constraint means something for. */
const constrainedTypes = {
  minimum: numeric,
  maximum: numeric,
  minLength: textual,
  maxLength: textual,
  pattern: textual,
  format: textual,
} as const;

/**
 * What is wrong with the definitions themselves, for registration: constraints that contradict each other or their type,
 * patterns that cannot be matched in linear time, defaults and allowed values that break their own rules.
 */
export const checkDefinitions = (intent: Pick<IntentInput, 'input_parameters' | 'output_parameters'>): Issue[] =>
  (['input_parameters', 'output_parameters'] as const).flatMap((list) =>
    intent[list].flatMap((definition, index) =>
      checkDefinition(definition).map(({ path, problem }) => ({ path: pointer([list, index]) + path, problem })),
    ),
  );

function checkDefinition(definition: Parameter): Issue[] {
  const { type, minimum, maximum, minLength, maxLength, pattern } = definition;
  const issues: Issue[] = [];
  for (const [constraint, allowed] of Object.entries(constrainedTypes)) {
    if (definition[constraint as keyof typeof constrainedTypes] === undefined || allowed.includes(type)) continue;
    issues.push({ path: `/${constraint}`, problem: `must be left out, because it constrains nothing of type ${type}` });
  }
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) {
    issues.push({ path: '/minimum', problem: 'must not be greater than maximum' });
  }
  if (minLength !== undefined && maxLength !== undefined && minLength > maxLength) {
    issues.push({ path: '/minLength', problem: 'must not be greater than maxLength' });
  }
  const patternProblem = pattern === undefined ? undefined : describePattern(pattern);
  if (patternProblem !== undefined) issues.push({ path: '/pattern', problem: patternProblem });
  return issues.length > 0 ? issues : checkOwnValues(definition);
}

function describePattern(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

function checkOwnValues({ default: fallback, enum: allowed, ...definition }: Parameter): Issue[] {
  const check = compileDefinition(definition);
  const allowedIssues = (allowed ?? []).flatMap((value, index) =>
    check(value).map((problem) => ({ path: `/enum/${index}`, problem: `${problem}, like every value of this parameter` })),
  );
  if (fallback === undefined) return allowedIssues;
  const defaultProblems = compileDefinition({ ...definition, enum: allowed })(fallback);
  return [
    ...allowedIssues,
    ...defaultProblems.map((problem) => ({ path: '/default', problem: `${problem}, like every value of this parameter` })),
  ];
}
