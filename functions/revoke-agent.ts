import { toAgent } from '../schemas/agent.ts';
import { stateOf } from './core/activity/agent.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { type AgentDeps, agentDepsFromEnvironment, changeAgent } from './core/agents/agent-endpoint.ts';
import { ok } from './core/http/response.ts';

/** `POST /api/agents/{agent_id}/revoke`: PATs that were issued to the agent until now are no longer accepted. It may ask for a new one: a block is what keeps it out. */
export const createAction = (deps: AgentDeps): AdminAction =>
  changeAgent(deps, { change: deps.agents.revoke, answer: (agent) => ok(toAgent(agent, stateOf(agent) ?? 'active')) });

export const handler = serveAdmin(createAction(agentDepsFromEnvironment()));
