import type { Policy } from '../../../schemas/policy.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

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
