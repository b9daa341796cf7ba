import { blockInput, toAgent } from '../schemas/agent.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { outwaitAdmissions } from './core/pat/admission.ts';
import { type Agents, openAgents, requireAgentId } from './core/store/agent.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'block'>;
  /** resolves once no execution can be admitted any more that may have read the agent before it was blocked */
  outwait: () => Promise<void>;
}

/**
 * `PUT /api/agents/{agent_id}/block`: keeps an agent out, its id and its key, until the block is lifted. It takes effect at once; the answer comes
 * when it is certain that no execution is admitted any more.
 */
export const createAction =
  ({ verifyAdmin, agents, outwait }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const { reason } = request.body(blockInput);
    const agent = await agents.block(requireAgentId(request.pathParameter('agent_id')), reason, Date.now());
    await outwait();
    return ok(toAgent(agent, 'blocked'));
  };

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    agents: openAgents(tableFromEnvironment()),
    outwait: outwaitAdmissions,
  }),
);
