import type { Admin } from '../admin/admin.ts';
import type { ChangeLog, Read } from '../registry/change-log.ts';
import type { Condition } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { changeOf, noChange, type WaitingItem } from './agent.ts';

/** How many agents may wait for approval at a time: one more takes the place of the one that has waited longest. */
export const maxWaiting = 1_000;

/** How long an agent waits for approval before it is forgotten, in seconds. */
export const waitSeconds = 7 * 24 * 3_600;

/** What is known of the queue as a whole. */
export interface QueueItem extends Item {
  /** how many have ever asked */
  asked?: number;
  /** those with smaller numbers do not wait any more */
  cleared?: number;
  /** how many of those who waited had to make room since then */
  displaced?: number;
}

export const placeOf = (number: number): Key => keys.waitingPlace(number % maxWaiting);

const places = placeOf(0).pk;

/** Whether a request for approval still counts. */
export const isWaiting = (wait: WaitingItem | undefined, queue: QueueItem | undefined, nowMs: number): boolean =>
  wait !== undefined && wait.expires_at > nowMs / 1000 && wait.number >= (queue?.cleared ?? 0);

/**
 * What ends the waiting of a key under an id, or makes sure that it does not wait. Its place goes with it, as long as it counts: later,
 * somebody else may have that.
 */
export function endWaiting(agentId: string, thumbprint: string, wait: WaitingItem | undefined, counts = false): Write[] {
  const key = keys.waiting(agentId, thumbprint);
  if (!wait) return [{ check: key, when: [['absent', 'pk']] }];
  const when: Condition[] = [['=', 'number', wait.number]];
  return [{ delete: key, when }, ...(counts ? [{ delete: placeOf(wait.number), when }] : [])];
}

/**
 * The queue of agents that wait for approval: a ring of {@link maxWaiting} places, so that nobody who asks can make it grow. Who waits has
 * a record and, as a copy of it, a place.
 */
export function openWaitingAgents(table: Table, log: Pick<ChangeLog, 'change'>) {
  const readQueue = () => table.get<QueueItem>(keys.waitingAgents());

  return {
    /** The keys that wait under an agent_id. */
    async find(agentId: string, nowMs = Date.now()): Promise<WaitingItem[]> {
      const { pk, sk } = keys.waiting(agentId, '');
      const [queue, { items }] = await Promise.all([readQueue(), table.query<WaitingItem>(pk, { range: ['>', sk], limit: 100 })]);
      return items.filter((wait) => isWaiting(wait, queue, nowMs));
    },

    /** Whether a key waits under an id, and what ends that: part of the plan of a change. */
    async end(read: Read, agentId: string, thumbprint: string): Promise<{ wait: WaitingItem | undefined; writes: Write[] }> {
      const [wait, queue] = await read<WaitingItem & QueueItem>([keys.waiting(agentId, thumbprint), keys.waitingAgents()]);
      const counts = isWaiting(wait, queue, Date.now());
      return { wait: counts ? wait : undefined, writes: endWaiting(agentId, thumbprint, wait, counts) };
    },

    /**
     * A page of those who wait; it may hold fewer than `count` although more follow.
     * @returns `displaced`: how many had to make room for others since the queue was last cleared
     */
    async list(after: string | undefined, count: number, nowMs: number) {
      const range = after === undefined ? {} : ({ range: ['>', after] } as const);
      const [queue, { items, lastKey }] = await Promise.all([readQueue(), table.query<WaitingItem>(places, { ...range, limit: count })]);
      const agents = items.filter((wait) => isWaiting(wait, queue, nowMs));
      return { agents, displaced: queue?.displaced ?? 0, ...(lastKey && { next: lastKey.sk }) };
    },

    /** Ends the waiting of everybody who has asked, all at once: what is kept of them counts no more, and expires. */
    clear: (by: Admin): Promise<void> =>
      log.change(by, async (read) => {
        const [queue] = await read<QueueItem>([keys.waitingAgents()]);
        const { items, lastKey } = await table.query<WaitingItem>(places);
        if (!lastKey && !items.some((wait) => isWaiting(wait, queue, Date.now()))) return noChange(undefined);
        const start = { update: keys.waitingAgents(), set: { cleared: queue?.asked, displaced: 0 } };
        return changeOf('clear', 'pending', undefined, [start]);
      }),
  };
}

export type WaitingAgents = ReturnType<typeof openWaitingAgents>;
