import { approvalInput, toAgent } from '../schemas/agent.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Agents, noSuchRequest, openAgents, requireAgentId } from './core/store/agent.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'approve'>;
}

/** `POST /api/agents/{agent_id}/approve`: lets the id and the key that wait for approval have PATs. */
export const createAction =
  ({ verifyAdmin, agents }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const { key_thumbprint: thumbprint } = request.body(approvalInput);
    const agent = await agents.approve(requireAgentId(request.pathParameter('agent_id')), thumbprint, Date.now());
    if (!agent) throw noSuchRequest();
    return ok(toAgent(agent, 'active'));
  };

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(tableFromEnvironment()) }));
