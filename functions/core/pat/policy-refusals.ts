import type { Policy } from '../../../schemas/policy.ts';
import { describeChanges } from '../policy/describe.ts';
import type { CurrentPolicy } from '../policy/policy.ts';
import { PolicyError } from '../policy/reading.ts';
import { ApiError } from '../runtime/api-error.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** Refusals of agents that have not accepted the policy in force. */
export function openPolicyRefusals(archive: PolicyArchive) {
  /** Describes what has changed since an earlier policy, if the gate knows it. */
  async function detailsOf(
    reason: string,
    reference: string | undefined,
    { reference: policy, policy: current }: CurrentPolicy,
    baseUrl: string,
  ) {
    const earlier = reference === undefined ? undefined : await archive.find(reference);
    try {
      return { details: { reason, policy, ...(earlier && { changes: describeChanges(earlier, current, baseUrl) }) } };
    } catch (error) {
      // an earlier version of the gate may have accepted a policy that this version cannot read
      if (error instanceof PolicyError) return { details: { reason, policy } };
      throw error;
    }
  }

  return {
    /** 403 at issue, for a valid signature over another text. @param signed - reference to the signed text, which may be an earlier policy */
    rejectPolicy: async (signed: string | undefined, current: CurrentPolicy, baseUrl: string): Promise<ApiError> =>
      new ApiError(
        'POLICY_REJECTED',
        'The signature is valid, but the signed text is not the policy in force. Read it with GET /api/policy, and sign that.',
        await detailsOf('not_current_policy', signed, current, baseUrl),
      ),
    /** 403 at execution, for a PAT issued under another policy. */
    refuseOldPolicy: async (pol: string, current: CurrentPolicy, baseUrl: string): Promise<ApiError> =>
      new ApiError(
        'FORBIDDEN',
        'The policy has changed since the PAT was issued. Read it with GET /api/policy, sign it, and get a new PAT with POST /api/pat/issue.',
        await detailsOf('policy_changed', pol, current, baseUrl),
      ),
  };
}

export type PolicyRefusals = ReturnType<typeof openPolicyRefusals>;

/** The policies of issued PATs, so that a refusal can describe what has changed since. */
export function openPolicyArchive(table: Table) {
  const archived = new Set<string>();
  return {
    /** Stores a policy, at most once per instance and policy. */
    async keep(reference: string, policy: Policy): Promise<void> {
      if (archived.has(reference)) return;
      await table.put({ ...keys.policy(reference), text: JSON.stringify(policy) });
      archived.add(reference);
    },

    async find(reference: string): Promise<Policy | undefined> {
      const item = await table.get<{ text: string }>(keys.policy(reference));
      return item && JSON.parse(item.text);
    },
  };
}

export type PolicyArchive = ReturnType<typeof openPolicyArchive>;
