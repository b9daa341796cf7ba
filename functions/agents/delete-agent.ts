import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { noContent } from '../core/http/response.ts';
import { type AgentDeps, agentDepsFromEnvironment, changeAgent } from './agent-endpoint.ts';

/**
 * `DELETE /api/agents/{agent_id}`: frees the agent_id for another key and invalidates its PATs. A pending request for approval is removed; a
 * block stays.
 */
export const createAction = (deps: AgentDeps): AdminAction => changeAgent(deps, { change: deps.agents.unbind, answer: noContent });

export const handler = serveAdmin(createAction(agentDepsFromEnvironment()));
