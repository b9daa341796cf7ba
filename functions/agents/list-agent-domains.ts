import { toAgentDomain } from '../../schemas/agents/agents.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type ApprovedDomains, openApprovedDomains } from './approved-domains.ts';

/** `GET /api/agent-domains`: the domains whose verified agents need no approval. */
export const createAction = ({ domains }: { domains: Pick<ApprovedDomains, 'list'> }): AdminAction =>
  forFullAdmins(async () => ok({ domains: (await domains.list()).map(toAgentDomain) }));

export const handler = serveAdmin(createAction({ domains: openApprovedDomains(tableFromEnvironment()) }));
