import { toAgent } from '../schemas/agent.ts';
import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchAgent, openAgents, requireAgentId } from './core/store/agent.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'find'>;
}

/** `GET /api/agents/{agent_id}`: the key that an agent_id is bound to, and when it was last issued a PAT. */
export const createAction =
  ({ verifyAdmin, agents }: Deps): Action =>
  async (request) => {
    requireFullAdmin(await verifyAdmin(request));
    const agent = await agents.find(requireAgentId(request.pathParameter('agent_id')));
    if (!agent) throw noSuchAgent();
    return ok(toAgent(agent));
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(tableFromEnvironment()) }));
