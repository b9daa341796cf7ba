import { toAgent } from '../../schemas/agents/agents.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { type AgentDeps, agentDepsFromEnvironment, changeAgent } from './agent-endpoint.ts';
import { stateOf } from './records.ts';

/** `POST /api/agents/{agent_id}/revoke`: invalidates all PATs issued to the agent so far. The agent may get new ones unless it is blocked. */
export const createAction = (deps: AgentDeps): AdminAction =>
  changeAgent(deps, { change: deps.agents.revoke, answer: (agent) => ok(toAgent(agent, stateOf(agent) ?? 'active')) });

export const handler = serveAdmin(createAction(agentDepsFromEnvironment()));
