import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { noContent } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchBlock, openAgents, requireAgentId } from './core/store/agent.ts';
import { type History, historyFromEnvironment } from './core/store/history.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'unblock'>;
  history: Pick<History, 'around'>;
}

/** `DELETE /api/agents/{agent_id}/block`: lifts the block of the id and of the key that it held for. PATs that have not expired are accepted again. */
export const createAction =
  ({ verifyAdmin, agents, history }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    requireFullAdmin(admin);
    const id = requireAgentId(request.pathParameter('agent_id'));
    const change = { kind: 'agent', id, action: 'unblock' } as const;
    if (!(await history.around(admin, change, () => agents.unblock(id, Date.now())))) throw noSuchBlock();
    return noContent();
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table), history: historyFromEnvironment(table) }),
);
