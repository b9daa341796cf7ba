import { type AgentItem, idOfKey, type Presented } from '../core/activity/agent.ts';
import type { Read } from '../core/registry/change-log.ts';
import type { Condition } from '../core/table/expression.ts';
import { type Key, keys } from '../core/table/keys.ts';
import { persist } from '../core/table/retry.ts';
import type { Item, Table, Write } from '../core/table/table.ts';
import { approvalKeys, type WaitingItem } from './records.ts';

/** Size of the approval queue. When it is full, the oldest request is dropped. */
export const maxWaiting = 1_000;

/** Lifetime of a request for approval, in seconds. */
const waitSeconds = 7 * 24 * 3_600;

/**
 * The approval queue: a ring buffer of {@link maxWaiting} slots, so that requests cannot make it grow. Each waiting agent has a record, and a
 * copy of it in a slot.
 */
export interface QueueItem extends Item {
  /** number of requests ever made */
  asked?: number;
  /** requests with lower numbers are void */
  cleared?: number;
  /** requests dropped to make room since the queue was last cleared */
  displaced?: number;
}

const slotKey = (number: number): Key => approvalKeys.waitingSlot(number % maxWaiting);

export const waitingSlots = slotKey(0).pk;

export const isWaiting = (wait: WaitingItem | undefined, queue: QueueItem | undefined, nowMs: number): boolean =>
  wait !== undefined && wait.expires_at > nowMs / 1000 && wait.number >= (queue?.cleared ?? 0);

/** A page of waiting agents, and the queue. It may hold fewer than `limit` although more follow. */
async function readQueue(table: Table, pk: string, after: string | undefined, limit: number, nowMs: number) {
  const [queue, { items, lastKey }] = await Promise.all([
    table.get<QueueItem>(approvalKeys.waitingAgents()),
    table.query<WaitingItem>(pk, { range: after === undefined ? undefined : ['>', after], limit }),
  ]);
  return { queue, agents: items.filter((wait) => isWaiting(wait, queue, nowMs)), lastKey };
}

export async function findWaiting(table: Table, agentId: string, nowMs = Date.now()): Promise<WaitingItem[]> {
  const { pk, sk } = approvalKeys.waiting(agentId, '');
  return (await readQueue(table, pk, sk, 100, nowMs)).agents;
}

export async function listWaiting(table: Table, after: string | undefined, count: number, nowMs: number) {
  const { queue, agents, lastKey } = await readQueue(table, waitingSlots, after, count, nowMs);
  return { agents, displaced: queue?.displaced ?? 0, ...(lastKey && { next: lastKey.sk }) };
}

/**
 * Removes a key's request for approval under an id, or checks that there is none. Only a valid request gives up its slot too: that of a void one
 * may belong to another request.
 */
export function removeWaiting(agentId: string, thumbprint: string, wait: WaitingItem | undefined, isValid = false): Write[] {
  const key = approvalKeys.waiting(agentId, thumbprint);
  if (!wait) return [{ check: key, when: [['absent', 'pk']] }];
  const when: Condition[] = [['=', 'number', wait.number]];
  return [{ delete: key, when }, ...(isValid ? [{ delete: slotKey(wait.number), when }] : [])];
}

/** Plans the removal of a request for approval, if there is one. */
export async function planRemoval(read: Read, agentId: string, thumbprint: string) {
  const [wait, queue] = await read<WaitingItem & QueueItem>([approvalKeys.waiting(agentId, thumbprint), approvalKeys.waitingAgents()]);
  const isValid = isWaiting(wait, queue, Date.now());
  return { wait: isValid ? wait : undefined, writes: removeWaiting(agentId, thumbprint, wait, isValid) };
}

/** Adds an agent to the approval queue, unless it is queued already. Its id stays unbound. */
export const requestApproval = (table: Table, presented: Presented): Promise<void> =>
  persist(async () => ((await tryToRequest(table, presented)) ? { value: undefined } : undefined), table.pause);

/** @returns false if the queue or the agent has changed since it was read */
async function tryToRequest(table: Table, { agentId, thumbprint, nowMs, domain }: Presented): Promise<boolean> {
  const key = approvalKeys.waiting(agentId, thumbprint);
  const [agent, wait, queue] = await table.getAll<AgentItem & WaitingItem & QueueItem>([
    keys.agent(agentId),
    key,
    approvalKeys.waitingAgents(),
  ]);
  if (agent?.generation !== undefined || agent?.block !== undefined || isWaiting(wait, queue, nowMs)) return true;
  const number = queue?.asked ?? 0;
  const before = await table.get<WaitingItem>(slotKey(number));
  const displaced = before && isWaiting(before, queue, nowMs) ? before : undefined;
  // a concurrent attempt has already queued this agent in that slot
  if (displaced?.thumbprint === thumbprint && keys.agent(displaced.agent_id).pk === key.pk) return true;
  const asked = {
    agent_id: agentId,
    thumbprint,
    ...(domain !== undefined && { domain }),
    first_seen: nowMs,
    number,
    expires_at: Math.floor(nowMs / 1000) + waitSeconds,
  };
  const isFree: Condition[] = [
    ['absent', 'generation'],
    ['absent', 'block'],
  ];
  const outcome = await table.transact([
    {
      update: approvalKeys.waitingAgents(),
      set: { asked: number + 1 },
      add: displaced ? [['displaced', 1]] : [],
      when: [queue ? ['=', 'asked', number] : ['absent', 'asked']],
    },
    { check: keys.agent(agentId), when: isFree },
    { put: { ...key, ...asked }, when: [wait ? ['=', 'number', wait.number] : ['absent', 'pk']] },
    { put: { ...slotKey(number), ...asked } },
    idOfKey(thumbprint, agentId, asked.expires_at),
    ...(displaced ? removeRequest(displaced) : []),
  ]);
  return outcome === true;
}

const removeRequest = ({ agent_id, thumbprint, number }: WaitingItem): Write[] => [
  { delete: approvalKeys.waiting(agent_id, thumbprint), when: [['=', 'number', number]] },
  { delete: keys.idOfKey(thumbprint, agent_id) },
];
