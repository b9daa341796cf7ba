import { approvalInput, toAgent } from '../schemas/agent.ts';
import { noSuchRequest } from './core/activity/agent-refusals.ts';
import { openAgents } from './core/activity/agents.ts';
import { adminVerifierFromEnvironment } from './core/admin/verify-admin.ts';
import { type AgentDeps, changeAgent } from './core/agents/agent-endpoint.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { changeLogFromEnvironment } from './core/registry/change-log.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/** `POST /api/agents/{agent_id}/approve`: lets an id and a key have PATs, whether they wait for that or have not asked yet. */
export const createAction =
  (deps: AgentDeps): Action =>
  async (request) => {
    const how = { input: approvalInput, mayBeNew: 'pair', change: deps.agents.approve, missing: noSuchRequest } as const;
    return ok(toAgent(await changeAgent(deps, request, how), 'active'));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table, changeLogFromEnvironment(table)) }),
);
