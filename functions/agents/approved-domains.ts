import type { Admin } from '../core/admin/admin.ts';
import { type ChangeLog, noChange, openChangeLog } from '../core/registry/change-log.ts';
import type { Item, Table } from '../core/table/table.ts';
import { planned } from './agent-changes.ts';
import { approvalKeys } from './records.ts';

export interface ApprovedDomain extends Item {
  domain: string;
  /** milliseconds since the epoch */
  approved_at: number;
}

/** The domains whose verified agents get PATs without waiting for approval. Agents that have PATs keep them when their domain loses its approval. */
export const openApprovedDomains = (table: Table, log: Pick<ChangeLog, 'change'> = openChangeLog(table)) => ({
  approve: (by: Admin, domain: string): Promise<ApprovedDomain> =>
    log.change<ApprovedDomain>(by, async (read) => {
      const [known] = await read<ApprovedDomain>([approvalKeys.approvedDomain(domain)]);
      if (known) return noChange(known);
      const approved = { ...approvalKeys.approvedDomain(domain), domain, approved_at: Date.now() };
      return planned('approve', domain, approved, [{ put: approved, when: [['absent', 'pk']] }]);
    }),

  /** @returns undefined if it is not approved */
  remove: (by: Admin, domain: string): Promise<true | undefined> =>
    log.change<true | undefined>(by, async (read) => {
      const [known] = await read<ApprovedDomain>([approvalKeys.approvedDomain(domain)]);
      if (!known) return noChange(undefined);
      return planned('unbind', domain, true, [{ delete: approvalKeys.approvedDomain(domain), when: [['exists', 'pk']] }]);
    }),

  list: async (): Promise<ApprovedDomain[]> => (await table.query<ApprovedDomain>(approvalKeys.approvedDomain('').pk)).items,
});

export type ApprovedDomains = ReturnType<typeof openApprovedDomains>;
