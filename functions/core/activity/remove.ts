import type { Planned, Read } from '../registry/change-log.ts';
import { keys } from '../table/keys.ts';
import type { Write } from '../table/table.ts';
import { newUlid } from '../ulid.ts';
import { type AgentItem, type AgentKeyItem, asSeen, changeOf, type FoundAgent, isOfAnother, noChange } from './agent.ts';
import { onlyOne } from './agent-refusals.ts';
import type { WaitingAgents } from './waiting-agents.ts';

/** What an id loses when it is taken from its key. */
const boundMembers = ['thumbprint', 'generation', 'first_seen', 'last_issue', 'revoked_at', 'proof', 'listed_until'];

/** Makes every PAT that has been issued to the agent invalid. The result is undefined if there is no such agent. */
export const revoke =
  ({ agentId, thumbprint }: FoundAgent) =>
  async (read: Read): Promise<Planned<AgentItem | undefined>> => {
    const [agent] = await read<AgentItem>([keys.agent(agentId)]);
    if (agent?.generation === undefined || isOfAnother(agent, thumbprint)) return noChange(undefined);
    const revoked = { generation: newUlid(), revoked_at: Date.now() };
    return changeOf('revoke', agent.agent_id, { ...agent, ...revoked }, [
      { update: keys.agent(agentId), set: revoked, when: asSeen(agent) },
    ]);
  };

/**
 * Frees the id for another key, and makes every PAT issued to it invalid; a block stays, for the key too. Of a key that only waits under
 * the id, the request is removed. The result is undefined if no key has the id or waits.
 * @throws ApiError CONFLICT if no key has the id, several wait, and none is named
 */
export function unbind(waiting: WaitingAgents, { agentId, thumbprint }: FoundAgent) {
  let named = thumbprint;
  return async (read: Read): Promise<Planned<true | undefined>> => {
    const [agent] = await read<AgentItem>([keys.agent(agentId)]);
    const { agent_id = agentId, thumbprint } = agent ?? {};
    // what another key has by a later attempt was not meant
    named ??= thumbprint;
    if (agent !== undefined && thumbprint !== undefined && named === thumbprint) {
      const [key] = await read<AgentKeyItem>([keys.agentKey(thumbprint)]);
      return changeOf('unbind', agent_id, true, [...free(agentId, agent, thumbprint), ...(key?.proof ? [forgetProof(thumbprint)] : [])]);
    }
    const meant = named ?? onlyOne(await waiting.find(agentId))?.thumbprint;
    if (meant === undefined) return noChange(undefined);
    const { wait, writes } = await waiting.end(read, agentId, meant);
    if (!wait) return noChange(undefined);
    return changeOf('unbind', wait.agent_id, true, [...writes, { delete: keys.idOfKey(meant, wait.agent_id) }]);
  };
}

function free(agentId: string, agent: AgentItem, thumbprint: string): Write[] {
  const key = keys.agent(agentId);
  const when = asSeen(agent);
  if (agent.block !== undefined) return [{ update: key, set: { blocked_key: thumbprint }, remove: boundMembers, when }];
  return [
    { delete: key, when },
    { delete: keys.agentListed('active', agent.agent_id) },
    { delete: keys.idOfKey(thumbprint, agent.agent_id) },
  ];
}

const forgetProof = (thumbprint: string): Write => ({
  update: keys.agentKey(thumbprint),
  remove: ['proof'],
  when: [['exists', 'proof']],
});
