import { compileParameters } from '../../functions/core/parameters/compile.ts';
import { type Call, type Condition, concerns, evaluateCondition } from '../../functions/core/policy/conditions.ts';
import { describeRule, nameCondition } from '../../functions/core/policy/describe.ts';
import { chargesOf, findObstacle, judge, namesIntent, rulesRequiringApproval } from '../../functions/core/policy/judge.ts';
import type { Rule } from '../../functions/core/policy/reading.ts';
import { expectedInputs, nullRules } from '../../functions/core/relay/endpoint.ts';
import type { IntentInput } from '../../schemas/intent.ts';

export type Explanation = ReturnType<typeof explainCall>;

/**
 * The parameters that are judged: with defaults, as the gate sends them.
 * @returns the parameters, and the issues for which the gate would refuse the call before judging it
 */
export function completeParameters(
  { endpoint, input_parameters }: Pick<IntentInput, 'endpoint' | 'input_parameters'>,
  given: Call['parameters'],
) {
  const inputs = expectedInputs({ endpoint, input_parameters }, given);
  const { values, issues = [] } = compileParameters(inputs, nullRules(endpoint))(given);
  const defaults = inputs.flatMap(({ name, default: fallback }) => (fallback === undefined ? [] : [[name, fallback]]));
  return { parameters: values ?? { ...Object.fromEntries(defaults), ...given }, issues };
}

/**
 * Explains how the rules of a policy judge a call.
 * @param call - missing parameters count as omitted
 */
export function explainCall(rules: readonly Rule[], call: Call) {
  const judgement = judge(rules, call);
  const decisive = judgement.isPermitted
    ? judgement.rules.find(({ kind }) => kind === 'permission')
    : (judgement.condition ?? judgement.rule);
  const [approvalRule] = judgement.isPermitted ? rulesRequiringApproval(judgement.rules) : [];
  return {
    isPermitted: judgement.isPermitted,
    /** JSON pointer to the rule that requires approval */
    approvalBy: approvalRule?.pointer,
    /** JSON pointer to the deciding rule or condition */
    decidedBy: decisive?.pointer,
    /** every rule about the intent, by its JSON pointer, in policy order */
    rules: rules
      .filter((rule) => namesIntent(rule, call.intentUid))
      .map((rule) => {
        const obstacle = findObstacle(rule, call);
        return {
          rule: rule.pointer,
          sentence: describeRule(rule),
          applies: !obstacle,
          why: obstacle ? describeObstacle(obstacle, call) : whyApplies(rule, call),
        };
      }),
    charges: judgement.isPermitted ? chargesOf(judgement.rules) : [],
  };
}

function describeObstacle(condition: Condition, call: Call): string {
  const words = `${nameCondition(condition)} (${condition.pointer})`;
  if (!concerns(condition, call.intentUid)) return `it concerns another intent: ${words}`;
  return evaluateCondition(condition, call) === undefined ? `it is unknown whether ${words}` : `it does not hold that ${words}`;
}

function whyApplies({ conditions }: Rule, call: Call): string {
  const relevant = conditions.filter((condition) => concerns(condition, call.intentUid));
  if (relevant.length === 0) return 'it covers the intent unconditionally';
  return relevant
    .map((condition) => {
      const words = `${nameCondition(condition)} (${condition.pointer})`;
      return evaluateCondition(condition, call) === undefined ? `it is unknown whether ${words}, which counts against the call` : words;
    })
    .join('; ');
}
