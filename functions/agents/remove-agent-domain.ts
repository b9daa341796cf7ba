import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { noContent } from '../core/http/response.ts';
import { changeLogFromEnvironment } from '../core/registry/change-log.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type ApprovedDomains, openApprovedDomains } from './approved-domains.ts';

/** `DELETE /api/agent-domains/{domain}`: agents of the domain that have no PAT yet need approval again. */
export const createAction = ({ domains }: { domains: Pick<ApprovedDomains, 'remove'> }): AdminAction =>
  forFullAdmins(async (admin, request) => {
    if (await domains.remove(admin, request.pathParameter('domain'))) return noContent();
    throw new ApiError('NOT_FOUND', 'This domain is not approved. GET /api/agent-domains lists those that are.');
  });

const table = tableFromEnvironment();

export const handler = serveAdmin(createAction({ domains: openApprovedDomains(table, changeLogFromEnvironment(table)) }));
