import { describeChanges } from '../policy/describe.ts';
import type { CurrentPolicy } from '../policy/policy.ts';
import { ApiError } from '../runtime/api-error.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** Refusals of agents that have not accepted the policy in force. */
export function openPolicyRefusals(archive: Pick<PolicyArchive, 'find'>) {
  /** Describes what has changed since an earlier policy, if the gate knows it. */
  async function detailsOf(reason: string, earlier: string | undefined, { reference: policy, sentences }: CurrentPolicy) {
    const known = earlier === undefined ? undefined : await archive.find(earlier);
    return { details: { reason, policy, ...(known && { changes: describeChanges(known, sentences) }) } };
  }

  return {
    /** 403 at issue, for a valid signature over another text. @param signed - reference to the signed text, which may be an earlier policy */
    rejectPolicy: async (signed: string | undefined, current: CurrentPolicy): Promise<ApiError> =>
      new ApiError(
        'POLICY_REJECTED',
        'The signature is valid, but the signed text is not the policy in force. Read it with GET /api/policy, and sign that.',
        await detailsOf('not_current_policy', signed, current),
      ),
    /** 403 at execution, for a PAT issued under another policy. */
    refuseOldPolicy: async (pol: string, current: CurrentPolicy): Promise<ApiError> =>
      new ApiError(
        'FORBIDDEN',
        'The policy has changed since the PAT was issued. Read it with GET /api/policy, sign it, and get a new PAT with POST /api/pat/issue.',
        await detailsOf('policy_changed', pol, current),
      ),
  };
}

export type PolicyRefusals = ReturnType<typeof openPolicyRefusals>;

/** The policies of issued PATs in plain sentences, so that a refusal can describe what has changed since. */
export function openPolicyArchive(table: Table) {
  const archived = new Set<string>();
  return {
    /** Stores the words of a policy, at most once per instance and policy. */
    async keep({ reference, sentences }: Pick<CurrentPolicy, 'reference' | 'sentences'>): Promise<void> {
      if (archived.has(reference)) return;
      await table.put({ ...keys.earlierPolicy(reference), sentences });
      archived.add(reference);
    },

    find: async (reference: string): Promise<string[] | undefined> =>
      (await table.get<{ sentences?: string[] }>(keys.earlierPolicy(reference)))?.sentences,
  };
}

export type PolicyArchive = ReturnType<typeof openPolicyArchive>;
