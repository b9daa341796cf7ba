import type { Issue } from '../../../schemas/errors.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { invalidParameter } from '../api-error.ts';
import { checkDefinitions } from '../parameters/definitions.ts';
import { type EgressRules, withOwnHost } from './egress.ts';
import { checkEndpoint } from './endpoint.ts';

/**
 * Checks at registration that an intent can be executed: its parameters' definitions and where its endpoint leads.
 * @param baseUrl - the address at which this gate was called, to which no endpoint may lead back
 * @throws ApiError INVALID_PARAMETER with every issue at once
 */
export function checkIntent(intent: IntentInput, rules: EgressRules, baseUrl: string): void {
  const issues = [
    ...checkDefinitions(intent),
    ...checkEndpoint(intent.endpoint, intent.input_parameters, withOwnHost(rules, baseUrl)),
    ...intent.output_parameters.flatMap(checkOutput),
  ];
  if (issues.length > 0) throw invalidParameter(issues);
}

/** Outputs are members of an answer; how a call is written says nothing about them. */
const checkOutput = (output: Parameter, at: number): Issue[] =>
  (['in', 'style'] as const)
    .filter((member) => output[member] !== undefined)
    .map((member) => ({ path: `/output_parameters/${at}/${member}`, problem: 'must be left out, because it is for inputs' }));
