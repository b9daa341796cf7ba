import { approvalInput, toAgent } from '../schemas/agent.ts';
import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchRequest, openAgents, requireAgentId } from './core/store/agent.ts';
import { type History, historyFromEnvironment } from './core/store/history.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'approve'>;
  history: Pick<History, 'around'>;
}

/** `POST /api/agents/{agent_id}/approve`: lets the id and the key that wait for approval have PATs. */
export const createAction =
  ({ verifyAdmin, agents, history }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    requireFullAdmin(admin);
    const id = requireAgentId(request.pathParameter('agent_id'));
    const { key_thumbprint: thumbprint } = request.body(approvalInput);
    const change = { kind: 'agent', id, action: 'approve' } as const;
    const agent = await history.around(admin, change, () => agents.approve(id, thumbprint, Date.now()));
    if (!agent) throw noSuchRequest();
    return ok(toAgent(agent, 'active'));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table), history: historyFromEnvironment(table) }),
);
