import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { noContent } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchBlock, openAgents, requireAgentId } from './core/store/agent.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'unblock'>;
}

/** `DELETE /api/agents/{agent_id}/block`: lifts the block of the id and of the key that it held for. PATs that have not expired are accepted again. */
export const createAction =
  ({ verifyAdmin, agents }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    if (!(await agents.unblock(requireAgentId(request.pathParameter('agent_id')), Date.now()))) throw noSuchBlock();
    return noContent();
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(tableFromEnvironment()) }));
