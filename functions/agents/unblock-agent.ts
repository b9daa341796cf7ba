import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { noContent } from '../core/http/response.ts';
import { type AgentDeps, agentDepsFromEnvironment, changeAgent } from './agent-endpoint.ts';
import { noSuchBlock } from './refusals.ts';

/** `DELETE /api/agents/{agent_id}/block`: lifts the block of the id and of its key. Unexpired PATs work again. */
export const createAction = (deps: AgentDeps): AdminAction =>
  changeAgent(deps, { change: deps.agents.unblock, missing: noSuchBlock, answer: noContent });

export const handler = serveAdmin(createAction(agentDepsFromEnvironment()));
