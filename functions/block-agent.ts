import { blockInput, toAgent } from '../schemas/agent.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { type AgentDeps, agentDepsFromEnvironment, changeAgent } from './core/agents/agent-endpoint.ts';
import { outwaitEarlierReads } from './core/execution/block-check.ts';
import { ok } from './core/http/response.ts';

export interface Deps extends AgentDeps {
  /** resolves once no execution that read the agent before the block can still send its call */
  outwait: () => Promise<void>;
}

/**
 * `PUT /api/agents/{agent_id}/block`: blocks an agent's id and key until the block is lifted. The block takes effect immediately; the response
 * waits until no earlier execution can still send a call.
 */
export const createAction = ({ outwait, ...deps }: Deps): AdminAction =>
  changeAgent(deps, {
    input: blockInput,
    mayBeNew: 'key',
    change: (by, agent, { reason }) => deps.agents.block(by, agent, reason),
    answer: async (agent) => {
      await outwait();
      return ok(toAgent(agent, 'blocked'));
    },
  });

export const handler = serveAdmin(createAction({ ...agentDepsFromEnvironment(), outwait: outwaitEarlierReads }));
