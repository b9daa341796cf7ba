import type * as z from 'zod';
import { noAgentId } from '../../schemas/agent.ts';
import { agentKeyQuery, isAgentId } from '../../schemas/agents/agents.ts';
import { foldName } from '../../schemas/text.ts';
import type { FoundAgent } from '../core/activity/agent.ts';
import type { Admin } from '../core/admin/admin.ts';
import { type AdminAction, forFullAdmins } from '../core/admin/for-admins.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { ApiResponse } from '../core/http/response.ts';
import { changeLogFromEnvironment } from '../core/registry/change-log.ts';
import { type ApiError, invalidParameter } from '../core/runtime/api-error.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type Agents, type NamedAgent, openAgents } from './agents.ts';
import { noSuchAgent } from './refusals.ts';

/**
 * The agent that a request names: by the id in its path, by `key_thumbprint` if the path contains {@link noAgentId} instead, or by both.
 * @throws ApiError INVALID_PARAMETER if body and query name different keys; NOT_FOUND if no agent can have the id, or has the key; CONFLICT if id and
 * key belong to different agents
 */
export async function requireAgent(
  request: ApiRequest,
  agents: Pick<Agents, 'resolve'>,
  { thumbprint: inBody, mayBeNew }: Omit<NamedAgent, 'agentId'> = {},
): Promise<FoundAgent> {
  const inPath = request.pathParameter('agent_id');
  const { key_thumbprint: thumbprint = inBody } = request.query(agentKeyQuery);
  if (inBody !== undefined && inBody !== thumbprint)
    throw invalidParameter([{ path: '/key_thumbprint', problem: 'must equal the key_thumbprint in the query' }]);
  const agentId = inPath === noAgentId ? undefined : inPath;
  // an id of white space and invisible characters folds to the empty string
  if (agentId !== undefined && (!isAgentId(agentId) || foldName(agentId) === '')) throw noSuchAgent();
  const found = await agents.resolve({ agentId, thumbprint, mayBeNew }, Date.now());
  if (!found) throw noSuchAgent();
  return found;
}

export interface AgentDeps {
  agents: Agents;
}

interface AgentChange<T, B> {
  input?: z.ZodType<B & { key_thumbprint?: string | undefined }>;
  mayBeNew?: NamedAgent['mayBeNew'];
  /** makes the change; a falsy result means that there was nothing to change */
  change(by: Admin, agent: FoundAgent, body: B): Promise<T>;
  missing?: () => ApiError;
  answer(result: NonNullable<T>): ApiResponse | Promise<ApiResponse>;
}

/** Makes the action of an endpoint that changes an agent. */
export const changeAgent = <T, B = object>(
  { agents }: AgentDeps,
  { input, mayBeNew, change, missing = noSuchAgent, answer }: AgentChange<T, B>,
): AdminAction =>
  forFullAdmins(async (admin, request) => {
    const body = input && request.body(input);
    const agent = await requireAgent(request, agents, { thumbprint: body?.key_thumbprint, mayBeNew });
    const result = await change(admin, agent, body as B);
    if (!result) throw missing();
    return answer(result);
  });

export const agentDepsFromEnvironment = (): AgentDeps => {
  const table = tableFromEnvironment();
  return { agents: openAgents(table, changeLogFromEnvironment(table)) };
};
