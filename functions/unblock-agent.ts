import { noSuchBlock } from './core/activity/agent-refusals.ts';
import { openAgents } from './core/activity/agents.ts';
import { adminVerifierFromEnvironment } from './core/admin/verify-admin.ts';
import { type AgentDeps, changeAgent } from './core/agents/agent-endpoint.ts';
import { noContent } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { changeLogFromEnvironment } from './core/registry/change-log.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/** `DELETE /api/agents/{agent_id}/block`: lifts the block of the id and of the key that it held for. PATs that have not expired are accepted again. */
export const createAction =
  (deps: AgentDeps): Action =>
  async (request) => {
    await changeAgent(deps, request, { change: deps.agents.unblock, missing: noSuchBlock });
    return noContent();
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table, changeLogFromEnvironment(table)) }),
);
