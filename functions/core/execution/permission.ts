import type { Authenticated } from '../pat/authenticate.ts';
import type { Call } from '../policy/conditions.ts';
import { describeRefusal } from '../policy/describe.ts';
import { judge } from '../policy/judge.ts';
import type { CurrentPolicy } from '../policy/policy.ts';
import type { Rule } from '../policy/reading.ts';
import { isPermitted, isProhibited } from '../policy/scope.ts';
import { ApiError } from '../runtime/api-error.ts';

/** @throws ApiError FORBIDDEN if the PAT's scope does not name the intent, or the policy prohibits it */
export function requirePermission({ claims, policy }: Authenticated, intentUid: string): void {
  if (isProhibited(policy.compiled, intentUid)) {
    throw new ApiError('FORBIDDEN', 'The usage policy prohibits this intent. GET /api/policy says which are permitted.', {
      details: { reason: 'prohibited' },
    });
  }
  if (!isPermitted(claims.scope, intentUid)) {
    throw new ApiError('FORBIDDEN', 'The PAT does not permit this intent. GET /api/policy says which are permitted.', {
      details: { reason: 'not_permitted' },
    });
  }
}

/**
 * @returns the rules that cover the call; their limits apply
 * @throws ApiError FORBIDDEN if no rule permits the call with these parameters at this time, or one forbids it
 */
export function requirePermittedCall({ compiled }: CurrentPolicy, call: Call): Rule[] {
  const judgement = judge(compiled.rules, call);
  if (judgement.isPermitted) return judgement.rules;
  const { reason, rule, condition, otherwise } = judgement;
  throw new ApiError(
    'FORBIDDEN',
    'The usage policy does not permit this call; details.words says why. GET /api/policy returns the full policy.',
    {
      details: { reason, ...(rule && { rule: condition?.pointer ?? rule.pointer, words: describeRefusal(rule, condition, otherwise) }) },
    },
  );
}
