import { toAgentDomain } from '../schemas/agent.ts';
import { type ApprovedDomains, openApprovedDomains } from './core/activity/approved-domains.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from './core/admin/for-admins.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  domains: Pick<ApprovedDomains, 'list'>;
}

/** `GET /api/agent-domains`: the domains whose verified agents need no approval. */
export const createAction = ({ verifyAdmin, domains }: Deps): AdminAction =>
  forFullAdmins(verifyAdmin, async () => ok({ domains: (await domains.list()).map(toAgentDomain) }));

export const handler = serveAdmin(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), domains: openApprovedDomains(tableFromEnvironment()) }),
);
