import type { Issue } from '../../../schemas/errors.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { pointer } from '../json.ts';
import { compileDefinition, constraintsOf } from './constraints.ts';

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
  const constraints = constraintsOf(definition);
  const issues = [
    ...constraints
      .filter(({ isMeant }) => !isMeant)
      .map(({ name }) => ({ path: `/${name}`, problem: `must be left out, because it constrains nothing of type ${definition.type}` })),
    ...constraints.flatMap(({ name, findProblem }) => {
      const problem = findProblem();
      return problem === undefined ? [] : [{ path: `/${name}`, problem }];
    }),
  ];
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
