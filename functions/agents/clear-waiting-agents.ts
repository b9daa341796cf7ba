import { clearQuery } from '../../schemas/agents/agents.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { noContent } from '../core/http/response.ts';
import { type AgentDeps, agentDepsFromEnvironment } from './agent-endpoint.ts';

/** `DELETE /api/agents` with `?state=pending`: empties the approval queue. Agents may apply again. */
export const createAction = ({ agents }: AgentDeps): AdminAction =>
  forFullAdmins(async (admin, request) => {
    request.query(clearQuery);
    await agents.clearWaiting(admin);
    return noContent();
  });

export const handler = serveAdmin(createAction(agentDepsFromEnvironment()));
