import { toAgent } from '../schemas/agent.ts';
import { stateOf } from './core/activity/agent.ts';
import { openAgents } from './core/activity/agents.ts';
import { adminVerifierFromEnvironment } from './core/admin/verify-admin.ts';
import { type AgentDeps, changeAgent } from './core/agents/agent-endpoint.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { changeLogFromEnvironment } from './core/registry/change-log.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/** `POST /api/agents/{agent_id}/revoke`: PATs that were issued to the agent until now are no longer accepted. It may ask for a new one: a block is what keeps it out. */
export const createAction =
  (deps: AgentDeps): Action =>
  async (request) => {
    const agent = await changeAgent(deps, request, { change: deps.agents.revoke });
    return ok(toAgent(agent, stateOf(agent) ?? 'active'));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table, changeLogFromEnvironment(table)) }),
);
