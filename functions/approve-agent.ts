import { approvalInput, toAgent } from '../schemas/agent.ts';
import { type FoundAgent, noSuchRequest, openAgents } from './core/activity/agent.ts';
import { adminVerifierFromEnvironment } from './core/admin/verify-admin.ts';
import { type AgentDeps, changeAgent } from './core/agents/agent-endpoint.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { historyFromEnvironment } from './core/registry/history.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/** `POST /api/agents/{agent_id}/approve`: lets an id and a key have PATs, whether they wait for that or have not asked yet. */
export const createAction =
  (deps: AgentDeps): Action =>
  async (request) => {
    const change = ({ agentId, thumbprint }: FoundAgent) => deps.agents.approve(agentId, thumbprint, Date.now());
    const how = { input: approvalInput, mayBeNew: true, change, missing: noSuchRequest } as const;
    return ok(toAgent(await changeAgent(deps, request, { action: 'approve', ...how }), 'active'));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table), history: historyFromEnvironment(table) }),
);
