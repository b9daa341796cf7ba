import type { PolicyArchive } from '../activity/policy-archive.ts';
import { ApiError } from '../api-error.ts';
import { describeChanges } from '../policy/describe.ts';
import type { CurrentPolicy } from '../policy/policy.ts';
import { PolicyError } from '../policy/reading.ts';

/** Refusals that make an agent sign again: what it agreed to is not, or no longer, the policy in force. */
export interface PolicyRefusals {
  /**
   * 403 at issue, for a genuine signature over something else.
   * @param signed - reference to what was signed, if it may be an earlier policy
   */
  rejectPolicy(signed: string | undefined, current: CurrentPolicy, baseUrl: string): Promise<ApiError>;
  /** 403 at execution, for a PAT that was issued under another policy. */
  refuseOldPolicy(pol: string, current: CurrentPolicy, baseUrl: string): Promise<ApiError>;
}

export function openPolicyRefusals(archive: PolicyArchive): PolicyRefusals {
  /** In plain sentences, as far as the earlier policy is known here. */
  async function findChanges(reference: string | undefined, { policy }: CurrentPolicy, baseUrl: string): Promise<{ changes?: string[] }> {
    const earlier = reference === undefined ? undefined : await archive.find(reference);
    if (!earlier) return {};
    try {
      return { changes: describeChanges(earlier, policy, baseUrl) };
    } catch (error) {
      // put into effect by an earlier version of the gate, which understood other policies
      if (error instanceof PolicyError) return {};
      throw error;
    }
  }

  return {
    rejectPolicy: async (signed, current, baseUrl) =>
      new ApiError(
        'POLICY_REJECTED',
        'The signature is genuine, but what it signs is not the policy in force. Read it with GET /api/policy, and sign that.',
        {
          details: { reason: 'not_current_policy', policy: current.reference, ...(await findChanges(signed, current, baseUrl)) },
        },
      ),
    refuseOldPolicy: async (pol, current, baseUrl) =>
      new ApiError(
        'FORBIDDEN',
        'The policy has changed since the PAT was issued. Read it with GET /api/policy, sign it, and get a new PAT with POST /api/pat/issue.',
        {
          details: { reason: 'policy_changed', policy: current.reference, ...(await findChanges(pol, current, baseUrl)) },
        },
      ),
  };
}
