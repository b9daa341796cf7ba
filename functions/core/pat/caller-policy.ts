import { bearerToken } from '../http/bearer.ts';
import type { ApiRequest } from '../http/request.ts';
import { type CurrentPolicy, type FindPolicy, policyFor } from '../policy/policy.ts';
import { judgedAgent } from './holder.ts';
import type { VerifyPat } from './verify.ts';

/**
 * The policy as it applies to the sender of a request that needs no PAT: to the holder, if the request has a valid PAT for this policy, else to an
 * unknown agent.
 */
export const openCallerPolicy =
  (findPolicy: FindPolicy, verifyPat: VerifyPat | undefined) =>
  async (request: ApiRequest): Promise<CurrentPolicy> => {
    const policy = findPolicy(request.baseUrl);
    if (!verifyPat || !policy.isAssigned || request.header('authorization') === undefined) return policy;
    try {
      const claims = await verifyPat(bearerToken(request, 'DPoP'), { baseUrl: request.baseUrl, nowMs: Date.now() });
      return claims.pol === policy.reference ? policyFor(policy, judgedAgent(claims)) : policy;
    } catch {
      return policy;
    }
  };
