import { approvalInput, toAgent } from '../../schemas/agents/agents.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { type AgentDeps, agentDepsFromEnvironment, changeAgent } from './agent-endpoint.ts';
import { noSuchRequest } from './refusals.ts';

/** `POST /api/agents/{agent_id}/approve`: approves an agent_id and its key for PATs, whether or not they are in the approval queue. */
export const createAction = (deps: AgentDeps): AdminAction =>
  changeAgent(deps, {
    input: approvalInput,
    mayBeNew: 'pair',
    change: deps.agents.approve,
    missing: noSuchRequest,
    answer: (agent) => ok(toAgent(agent, 'active')),
  });

export const handler = serveAdmin(createAction(agentDepsFromEnvironment()));
