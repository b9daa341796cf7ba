import { blockInput, toAgent } from '../../schemas/agents/agents.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { outwaitEarlierReads } from '../core/execution/block-check.ts';
import { type DeferredCalls, openDeferredCalls } from '../core/execution/deferred-call-store.ts';
import { voidBecause } from '../core/execution/void-check.ts';
import { ok } from '../core/http/response.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type AgentDeps, agentDepsFromEnvironment, changeAgent } from './agent-endpoint.ts';
import { keyOf } from './records.ts';

export interface Deps extends AgentDeps {
  /** resolves once no execution that read the agent before the block can still send its call */
  outwait: () => Promise<void>;
  deferred: Pick<DeferredCalls, 'stop'>;
}

/**
 * `PUT /api/agents/{agent_id}/block`: blocks an agent's id and key until the block is lifted. The block takes effect immediately; the response
 * waits until no earlier execution can still send a call, and the agent's waiting calls are void.
 */
export const createAction = ({ outwait, deferred, ...deps }: Deps): AdminAction =>
  changeAgent(deps, {
    input: blockInput,
    mayBeNew: 'key',
    change: (by, agent, { reason }) => deps.agents.block(by, agent, reason),
    answer: async (agent) => {
      await outwait();
      await deferred.stop({ agentId: agent.agent_id, thumbprint: keyOf(agent) }, voidBecause('The agent has been blocked'), Date.now());
      return ok(toAgent(agent, 'blocked'));
    },
  });

export const handler = serveAdmin(
  createAction({ ...agentDepsFromEnvironment(), deferred: openDeferredCalls(tableFromEnvironment()), outwait: outwaitEarlierReads }),
);
