import { toAgent } from '../schemas/agent.ts';
import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchAgent, openAgents, requireAgentId, stateOf } from './core/store/agent.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'find'>;
}

/** `GET /api/agents/{agent_id}`: the key that an agent_id is bound to, when it was last issued a PAT, and whether it is blocked. */
export const createAction =
  ({ verifyAdmin, agents }: Deps): Action =>
  async (request) => {
    requireFullAdmin(await verifyAdmin(request));
    const agent = await agents.find(requireAgentId(request.pathParameter('agent_id')));
    const state = stateOf(agent, Date.now());
    if (!agent || !state) throw noSuchAgent();
    return ok(toAgent(agent, state));
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(tableFromEnvironment()) }));
