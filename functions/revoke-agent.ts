import { toAgent } from '../schemas/agent.ts';
import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchAgent, openAgents, requireAgentId, stateOf } from './core/store/agent.ts';
import { type History, historyFromEnvironment } from './core/store/history.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'revoke'>;
  history: Pick<History, 'around'>;
}

/** `POST /api/agents/{agent_id}/revoke`: PATs that were issued to the agent until now are no longer accepted. It may ask for a new one: a block is what keeps it out. */
export const createAction =
  ({ verifyAdmin, agents, history }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    requireFullAdmin(admin);
    const id = requireAgentId(request.pathParameter('agent_id'));
    const agent = await history.around(admin, { kind: 'agent', id, action: 'revoke' }, () => agents.revoke(id, Date.now()));
    if (!agent) throw noSuchAgent();
    return ok(toAgent(agent, stateOf(agent, Date.now()) ?? 'active'));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table), history: historyFromEnvironment(table) }),
);
