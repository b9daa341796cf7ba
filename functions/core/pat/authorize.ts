import type { PatClaims } from '../../../schemas/pat.ts';
import { isBlocked, isRevoked, type Standing } from '../activity/agent.ts';
import { agentBlocked } from '../activity/agent-refusals.ts';
import { ApiError } from '../api-error.ts';
import { bearerToken, invalidToken } from '../http/bearer.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Call } from '../policy/conditions.ts';
import { describeRefusal } from '../policy/describe.ts';
import { judge } from '../policy/judge.ts';
import type { CurrentPolicy, FindPolicy } from '../policy/policy.ts';
import type { Rule } from '../policy/reading.ts';
import { isPermitted, isProhibited } from '../policy/scope.ts';
import type { PolicyRefusals } from './policy-refusals.ts';
import type { CheckedProof, Proofs } from './proof.ts';
import type { VerifyPat } from './verify.ts';

/** Who calls, and under which policy. */
export interface Authorization {
  claims: PatClaims;
  policy: CurrentPolicy;
  /** the proof that came with the request: to be used before anything comes of it */
  proof: CheckedProof | undefined;
}

export type Authorize = (request: ApiRequest, nowMs: number) => Promise<Authorization>;

export interface AuthorizerParts {
  verifyPat: VerifyPat;
  proofs: Pick<Proofs, 'checkAtUse'>;
  findPolicy: FindPolicy;
  refusals: Pick<PolicyRefusals, 'refuseOldPolicy'>;
}

/**
 * What is checked before the intent is read: that the PAT is genuine, that the caller holds its key if a proof is required, and that the policy
 * it was issued under is still in force.
 * @returns a check that throws ApiError UNAUTHORIZED or FORBIDDEN
 */
export const openAuthorizer =
  ({ verifyPat, proofs, findPolicy, refusals }: AuthorizerParts): Authorize =>
  async (request, nowMs) => {
    const token = bearerToken(request, 'DPoP');
    const claims = await verifyPat(token, { baseUrl: request.baseUrl, nowMs });
    const proof = await proofs.checkAtUse(request, token, claims, nowMs);
    const policy = findPolicy(request.baseUrl);
    if (claims.pol !== policy.reference) throw await refusals.refuseOldPolicy(claims.pol, policy, request.baseUrl);
    return { claims, policy, proof };
  };

/** @throws ApiError FORBIDDEN if the agent or its key is blocked, UNAUTHORIZED if its PATs have been revoked since this one was issued */
export function requireStanding(standing: Standing, claims: PatClaims): void {
  if (isBlocked(standing)) throw agentBlocked();
  if (isRevoked(standing.agent, claims))
    throw invalidToken('The PAT has been revoked. Ask the operators why, then get a new one with POST /api/pat/issue.');
}

/** @throws ApiError FORBIDDEN if the PAT's scope does not name the intent, or the policy prohibits it */
export function requirePermission({ claims, policy }: Authorization, intentUid: string): void {
  if (isProhibited(policy.grants, intentUid)) {
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
 * @returns the rules of the policy that cover the call, whose limits apply
 * @throws ApiError FORBIDDEN if none permits it with these parameters at this time, or one forbids it
 */
export function requirePermittedCall({ grants }: CurrentPolicy, call: Call): Rule[] {
  const judgement = judge(grants.rules, call);
  if (judgement.isPermitted) return judgement.rules;
  const { reason, rule, condition, otherwise } = judgement;
  throw new ApiError(
    'FORBIDDEN',
    'The usage policy does not permit this call as it is; details.words says why. GET /api/policy has it in full.',
    {
      details: { reason, ...(rule && { rule: condition?.place ?? rule.place, words: describeRefusal(rule, condition, otherwise) }) },
    },
  );
}
