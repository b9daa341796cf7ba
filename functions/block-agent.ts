import { blockInput, toAgent } from '../schemas/agent.ts';
import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { outwaitAdmissions } from './core/pat/admission.ts';
import { type Agents, openAgents, requireAgentId } from './core/store/agent.ts';
import { type History, historyFromEnvironment } from './core/store/history.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'block'>;
  history: Pick<History, 'around'>;
  /** resolves once no execution can call any more that may have read the agent before it was blocked */
  outwait: () => Promise<void>;
}

/**
 * `PUT /api/agents/{agent_id}/block`: keeps an agent out, its id and its key, until the block is lifted. It takes effect at once; the answer comes
 * when it is certain that no call is sent any more.
 */
export const createAction =
  ({ verifyAdmin, agents, history, outwait }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    requireFullAdmin(admin);
    const id = requireAgentId(request.pathParameter('agent_id'));
    const { reason } = request.body(blockInput);
    const agent = await history.around(admin, { kind: 'agent', id, action: 'block' }, () => agents.block(id, reason, Date.now()));
    await outwait();
    return ok(toAgent(agent, 'blocked'));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    agents: openAgents(table),
    history: historyFromEnvironment(table),
    outwait: outwaitAdmissions,
  }),
);
