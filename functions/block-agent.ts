import { blockInput, toAgent } from '../schemas/agent.ts';
import type { FoundAgent } from './core/activity/agent.ts';
import { openAgents } from './core/activity/agents.ts';
import type { Admin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment } from './core/admin/verify-admin.ts';
import { type AgentDeps, changeAgent } from './core/agents/agent-endpoint.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { outwaitAdmissions } from './core/pat/admission.ts';
import { changeLogFromEnvironment } from './core/registry/change-log.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps extends AgentDeps {
  /** resolves once no execution can call any more that may have read the agent before it was blocked */
  outwait: () => Promise<void>;
}

/**
 * `PUT /api/agents/{agent_id}/block`: keeps an agent out, its id and its key, until the block is lifted. It takes effect at once; the answer comes
 * when it is certain that no call is sent any more.
 */
export const createAction =
  (deps: Deps): Action =>
  async (request) => {
    const change = (by: Admin, agent: FoundAgent, { reason }: { reason: string }) => deps.agents.block(by, agent, reason);
    const agent = await changeAgent(deps, request, { input: blockInput, mayBeNew: 'key', change });
    await deps.outwait();
    return ok(toAgent(agent, 'blocked'));
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    agents: openAgents(table, changeLogFromEnvironment(table)),
    outwait: outwaitAdmissions,
  }),
);
