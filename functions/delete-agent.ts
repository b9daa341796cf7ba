import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { noContent } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchAgent, openAgents, requireAgentId } from './core/store/agent.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'unbind'>;
}

/** `DELETE /api/agents/{agent_id}`: frees the agent_id for another key; PATs that were issued to it are no longer accepted. A block stays. */
export const createAction =
  ({ verifyAdmin, agents }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    if (!(await agents.unbind(requireAgentId(request.pathParameter('agent_id'))))) throw noSuchAgent();
    return noContent();
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(tableFromEnvironment()) }));
