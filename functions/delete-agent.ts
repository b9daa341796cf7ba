import { openAgents } from './core/activity/agents.ts';
import { adminVerifierFromEnvironment } from './core/admin/verify-admin.ts';
import { type AgentDeps, changeAgent } from './core/agents/agent-endpoint.ts';
import { noContent } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { changeLogFromEnvironment } from './core/registry/change-log.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/**
 * `DELETE /api/agents/{agent_id}`: frees the agent_id for another key; PATs that were issued to it are no longer accepted. If it waits for approval,
 * its request is removed. A block stays.
 */
export const createAction =
  (deps: AgentDeps): Action =>
  async (request) => {
    await changeAgent(deps, request, { change: deps.agents.unbind });
    return noContent();
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table, changeLogFromEnvironment(table)) }),
);
