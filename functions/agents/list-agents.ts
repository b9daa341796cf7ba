import { agentQuery, toAgent } from '../../schemas/agents/agents.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { nextLink } from '../core/http/links.ts';
import { ok } from '../core/http/response.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type Agents, openAgents } from './agents.ts';

/** `GET /api/agents`: agents in one state. A page may be shorter than `page_size`; `Link` leads to the next one. */
export const createAction = ({ agents }: { agents: Pick<Agents, 'list'> }): AdminAction =>
  forFullAdmins(async (_admin, request) => {
    const { state, page_size: pageSize, after } = request.query(agentQuery);
    const { agents: found, displaced, next } = await agents.list(state, after, pageSize, Date.now());
    const page = { agents: found.map((agent) => toAgent(agent, state)), ...(displaced !== undefined && { displaced }) };
    return ok(page, nextLink(request, 'after', next));
  });

export const handler = serveAdmin(createAction({ agents: openAgents(tableFromEnvironment()) }));
