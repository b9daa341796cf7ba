import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { noContent } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchAgent, openAgents, requireAgentId } from './core/store/agent.ts';
import { type History, historyFromEnvironment } from './core/store/history.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'unbind'>;
  history: Pick<History, 'around'>;
}

/** `DELETE /api/agents/{agent_id}`: frees the agent_id for another key; PATs that were issued to it are no longer accepted. A block stays. */
export const createAction =
  ({ verifyAdmin, agents, history }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    requireFullAdmin(admin);
    const id = requireAgentId(request.pathParameter('agent_id'));
    if (!(await history.around(admin, { kind: 'agent', id, action: 'unbind' }, () => agents.unbind(id)))) throw noSuchAgent();
    return noContent();
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table), history: historyFromEnvironment(table) }),
);
