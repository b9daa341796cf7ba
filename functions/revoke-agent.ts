import { toAgent } from '../schemas/agent.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchAgent, openAgents, requireAgentId, stateOf } from './core/store/agent.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'revoke'>;
}

/** `POST /api/agents/{agent_id}/revoke`: PATs that were issued to the agent until now are no longer accepted. It may ask for a new one: a block is what keeps it out. */
export const createAction =
  ({ verifyAdmin, agents }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const agent = await agents.revoke(requireAgentId(request.pathParameter('agent_id')), Date.now());
    if (!agent) throw noSuchAgent();
    return ok(toAgent(agent, stateOf(agent, Date.now()) ?? 'active'));
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(tableFromEnvironment()) }));
