import type { PatClaims } from '../../../schemas/pat.ts';
import { openUsedJtis } from '../activity/used-jti.ts';
import { bearerToken } from '../http/bearer.ts';
import type { ApiRequest } from '../http/request.ts';
import { type CurrentPolicy, type FindPolicy, type PolicyPointer, policyFor } from '../policy/policy.ts';
import { readEnvironment } from '../runtime/environment.ts';
import type { Table } from '../table/table.ts';
import { judgedAgent } from './holder.ts';
import { openPolicyArchive, openPolicyRefusals, type PolicyRefusals } from './policy-refusals.ts';
import { type CheckedProof, openProofs, type Proofs } from './proof.ts';
import { patVerifierFromEnvironment, type VerifyPat } from './verify.ts';

export interface Authenticated {
  claims: PatClaims;
  /** as it applies to the holder */
  policy: CurrentPolicy;
  /** the proof of possession, which must be consumed before the request takes effect */
  proof: CheckedProof | undefined;
}

/**
 * @param readPointer - reads which policy is in force, with other records about the holder; default: it is read alone
 * @throws ApiError UNAUTHORIZED or FORBIDDEN
 */
export type Authenticate = (
  request: ApiRequest,
  nowMs: number,
  readPointer?: (claims: PatClaims) => Promise<PolicyPointer | undefined>,
) => Promise<Authenticated>;

export interface AuthenticatorParts {
  verifyPat: VerifyPat;
  proofs: Pick<Proofs, 'checkAtUse'>;
  findPolicy: FindPolicy;
  refusals: Pick<PolicyRefusals, 'refuseOldPolicy'>;
}

/**
 * Checks that the PAT is genuine, that the caller holds its key if a proof is required, and that its policy is still in force.
 */
export const openAuthenticator =
  ({ verifyPat, proofs, findPolicy, refusals }: AuthenticatorParts): Authenticate =>
  async (request, nowMs, readPointer) => {
    const token = bearerToken(request, 'DPoP');
    const claims = await verifyPat(token, { baseUrl: request.baseUrl, nowMs });
    const proof = await proofs.checkAtUse(request, token, claims, nowMs);
    const policy = await findPolicy(request.baseUrl, readPointer && ((await readPointer(claims)) ?? null));
    if (claims.pol !== policy.reference) throw await refusals.refuseOldPolicy(claims.pol, policy);
    return { claims, policy: policyFor(policy, judgedAgent(claims)), proof };
  };

export function authenticatorFromEnvironment(table: Table, findPolicy: FindPolicy): Authenticate {
  const { requireProofOfPossession } = readEnvironment([], ['requireProofOfPossession']);
  return openAuthenticator({
    verifyPat: patVerifierFromEnvironment(),
    proofs: openProofs(openUsedJtis(table), requireProofOfPossession === 'true'),
    findPolicy,
    refusals: openPolicyRefusals(openPolicyArchive(table)),
  });
}

/**
 * The policy as it applies to the sender of a request that needs no PAT: to the holder, if the request has a valid PAT for this policy, else to an
 * unknown agent.
 */
export const openCallerPolicy =
  (findPolicy: FindPolicy, verifyPat: VerifyPat | undefined) =>
  async (request: ApiRequest): Promise<CurrentPolicy> => {
    const policy = await findPolicy(request.baseUrl);
    if (!verifyPat || !policy.dependsOnAgent || request.header('authorization') === undefined) return policy;
    try {
      const claims = await verifyPat(bearerToken(request, 'DPoP'), { baseUrl: request.baseUrl, nowMs: Date.now() });
      return claims.pol === policy.reference ? policyFor(policy, judgedAgent(claims)) : policy;
    } catch {
      return policy;
    }
  };
