import { agentDomain, toAgentDomain } from '../../schemas/agents/agents.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { parse } from '../core/json/json.ts';
import { changeLogFromEnvironment } from '../core/registry/change-log.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type ApprovedDomains, openApprovedDomains } from './approved-domains.ts';

/** `PUT /api/agent-domains/{domain}`: agents that are verified for the domain get PATs without waiting for approval. */
export const createAction = ({ domains }: { domains: Pick<ApprovedDomains, 'approve'> }): AdminAction =>
  forFullAdmins(async (admin, request) => {
    const { domain } = parse(agentDomain, { domain: request.pathParameter('domain') });
    return ok(toAgentDomain(await domains.approve(admin, domain)));
  });

const table = tableFromEnvironment();

export const handler = serveAdmin(createAction({ domains: openApprovedDomains(table, changeLogFromEnvironment(table)) }));
