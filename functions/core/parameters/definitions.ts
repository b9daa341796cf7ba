import type { Issue } from '../../../schemas/errors.ts';
import { foldHeaderName, publicHeaderName } from '../../../schemas/header.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { compareNumbers } from '../../../schemas/number.ts';
import type { KeywordName, Parameter } from '../../../schemas/parameter.ts';
import { pointer } from '../json/json.ts';
import { compileDefinition, constrainedTypes, findPatternProblem, keywordNames, mayBeHeader } from './keywords.ts';
import { findNestedProblems } from './nested.ts';

/**
 * Checks the definitions themselves at registration: keywords that contradict each other or their type, patterns that cannot be matched in
 * linear time, defaults and allowed values that violate their own definition.
 */
export const checkDefinitions = (intent: Pick<IntentInput, 'input_parameters' | 'output_parameters'>): Issue[] =>
  (['input_parameters', 'output_parameters'] as const).flatMap((list) => {
    const fields = new Set<string>();
    return intent[list].flatMap((definition, index) =>
      [...checkLocation(definition, list, fields), ...checkDefinition(definition)].map(({ path, problem }) => ({
        path: pointer([list, index]) + path,
        problem,
      })),
    );
  });

/** @param fields - header fields of earlier parameters, to which this one is added */
function checkLocation(
  { name, type, in: location, of, style, schema, content_type }: Parameter,
  list: string,
  fields: Set<string>,
): Issue[] {
  if (list === 'output_parameters') {
    const given = Object.entries({ in: location, of, style, schema, content_type }).filter(([, value]) => value !== undefined);
    return given.map(([member]) => ({ path: `/${member}`, problem: 'must be left out, because an output is part of the answer' }));
  }
  if (location !== 'header') return [];
  const issues = (publicHeaderName.safeParse(name).error?.issues ?? []).map(({ message }) => ({ path: '/name', problem: message }));
  if (!mayBeHeader(type)) issues.push({ path: '/type', problem: 'must be string, number, integer or boolean for a header field' });
  if (fields.has(foldHeaderName(name)))
    issues.push({ path: '/name', problem: 'must not repeat the name of another header field in another spelling' });
  fields.add(foldHeaderName(name));
  return issues;
}

function checkDefinition(definition: Parameter): Issue[] {
  const { type, minimum, maximum, minLength, maxLength, pattern, schema } = definition;
  const issues: Issue[] = [];
  const refuse = (name: KeywordName, problem: string | undefined) => problem !== undefined && issues.push({ path: `/${name}`, problem });
  for (const name of keywordNames) {
    if (definition[name] !== undefined && !constrainedTypes[name].includes(type))
      refuse(name, `must be left out, because it does not apply to type ${type}`);
  }
  if (minimum !== undefined && compareNumbers(minimum, maximum ?? minimum) > 0) refuse('minimum', 'must not be greater than maximum');
  if (minLength !== undefined && minLength > (maxLength ?? minLength)) refuse('minLength', 'must not be greater than maxLength');
  if (pattern !== undefined) refuse('pattern', findPatternProblem(pattern));
  if (schema) issues.push(...findNestedProblems(schema, ['schema']));
  return issues.length > 0 ? issues : checkOwnValues(definition);
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
