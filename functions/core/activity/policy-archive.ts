import type { Policy } from '../../../schemas/policy.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** The policies of issued PATs, so that a refusal can describe what has changed since. */
export interface PolicyArchive {
  /** Stores a policy, at most once per instance and policy. */
  keep(reference: string, policy: Policy): Promise<void>;
  find(reference: string): Promise<Policy | undefined>;
}

export function openPolicyArchive(table: Table): PolicyArchive {
  const archived = new Set<string>();
  return {
    keep: async (reference, policy) => {
      if (archived.has(reference)) return;
      await table.put({ ...keys.policy(reference), text: JSON.stringify(policy) });
      archived.add(reference);
    },
    find: async (reference) => {
      const item = await table.get<{ text: string }>(keys.policy(reference));
      return item && JSON.parse(item.text);
    },
  };
}
