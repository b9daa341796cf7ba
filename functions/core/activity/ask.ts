import { keys } from '../table/keys.ts';
import { persist } from '../table/retry.ts';
import type { Table, Write } from '../table/table.ts';
import { type AgentItem, idOfKey, type Presented, type WaitingItem } from './agent.ts';
import { isWaiting, placeOf, type QueueItem, waitSeconds } from './waiting-agents.ts';

/**
 * Puts an agent in the queue for approval, at the cost of the one that has waited longest if the queue is full. One that waits already stays where
 * it is. The id is not bound to its key by that.
 */
export const ask = (table: Table, presented: Presented): Promise<void> =>
  persist(async () => ((await tryToAsk(table, presented)) ? { value: undefined } : undefined), table.pause);

/** Puts an agent in the queue. @returns whether that is settled: if not, others came before it */
async function tryToAsk(table: Table, { agentId, thumbprint, nowMs }: Presented): Promise<boolean> {
  const key = keys.waiting(agentId, thumbprint);
  const [agent, wait, queue] = await table.getAll<AgentItem & WaitingItem & QueueItem>([keys.agent(agentId), key, keys.waitingAgents()]);
  if (agent?.generation !== undefined || agent?.block !== undefined || isWaiting(wait, queue, nowMs)) return true;
  const number = queue?.asked ?? 0;
  const before = await table.get<WaitingItem>(placeOf(number));
  const displaced = before && isWaiting(before, queue, nowMs) ? before : undefined;
  // it has been given that place meanwhile
  if (displaced?.thumbprint === thumbprint && keys.agent(displaced.agent_id).pk === key.pk) return true;
  const asked = { agent_id: agentId, thumbprint, first_seen: nowMs, number, expires_at: Math.floor(nowMs / 1000) + waitSeconds };
  const outcome = await table.transact([
    {
      update: keys.waitingAgents(),
      set: { asked: number + 1 },
      add: displaced ? [['displaced', 1]] : [],
      when: [queue ? ['=', 'asked', number] : ['absent', 'asked']],
    },
    {
      check: keys.agent(agentId),
      when: [
        ['absent', 'generation'],
        ['absent', 'block'],
      ],
    },
    { put: { ...key, ...asked }, when: [wait ? ['=', 'number', wait.number] : ['absent', 'pk']] },
    { put: { ...placeOf(number), ...asked } },
    idOfKey(thumbprint, agentId, asked.expires_at),
    ...(displaced ? leave(displaced) : []),
  ]);
  return outcome === true;
}

/** What is left of somebody whose place is taken. */
const leave = ({ agent_id, thumbprint, number }: WaitingItem): Write[] => [
  { delete: keys.waiting(agent_id, thumbprint), when: [['=', 'number', number]] },
  { delete: keys.idOfKey(thumbprint, agent_id) },
];
