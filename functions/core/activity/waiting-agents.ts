import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

/** How many agents may wait for approval at a time: one more takes the place of the one that has waited longest. */
export const maxWaiting = 1_000;

/** How long an agent waits for approval before it is forgotten, in seconds. */
export const waitSeconds = 7 * 24 * 3_600;

/** An agent_id and a key that wait for approval. Several keys may wait under one id: waiting binds nothing. */
export interface WaitingItem extends Item {
  agent_id: string;
  /** RFC 7638 thumbprint of the key */
  thumbprint: string;
  /** milliseconds since the epoch */
  first_seen: number;
  /** its place in the queue */
  place: number;
  /** seconds since the epoch */
  expires_at: number;
}

/** The queue of agents that wait for approval: a ring of {@link maxWaiting} places, so that nobody who asks can make it grow. */
export function openWaitingAgents(table: Table) {
  const alive = (items: (WaitingItem | undefined)[], nowMs: number) =>
    items.filter((item): item is WaitingItem => item !== undefined && item.expires_at > nowMs / 1000);

  /** A page of places, and who is still waiting there. */
  async function readPlaces(after: string | undefined, count: number, nowMs: number) {
    const { items, lastKey } = await table.query<WaitingItem>(keys.waitingPlace(0).pk, {
      ...(after !== undefined && { range: 'sk > :after', ExpressionAttributeValues: { ':after': after } }),
      Limit: count,
    });
    const found =
      items.length > 0 ? await table.getAll<WaitingItem>(items.map((item) => keys.waiting(item.agent_id, item.thumbprint))) : [];
    const agents = alive(found, nowMs).filter(({ place }) => items.some((item) => item.sk === keys.waitingPlace(place).sk));
    return { items, agents, next: lastKey?.sk };
  }

  return {
    /** Puts an agent in the queue, at the cost of the one that has waited longest if the queue is full. One that waits already stays where it is. */
    async ask(agentId: string, thumbprint: string, nowMs: number): Promise<void> {
      const key = keys.waiting(agentId, thumbprint);
      if (alive([await table.get<WaitingItem>(key)], nowMs).length > 0) return;
      const counted = await table.update<{ asked: number }>(keys.waitingAgents(), {
        UpdateExpression: 'ADD asked :one',
        ExpressionAttributeValues: { ':one': 1 },
        ReturnValues: 'ALL_NEW',
      });
      const place = (counted ? counted.asked : 0) % maxWaiting;
      const agent = { agent_id: agentId, thumbprint, first_seen: nowMs, place, expires_at: Math.floor(nowMs / 1000) + waitSeconds };
      const before = await table.get<WaitingItem>(keys.waitingPlace(place));
      await table.put({ ...keys.idOfKey(thumbprint, agentId), agent_id: agentId, expires_at: agent.expires_at });
      await table.put({ ...keys.waitingPlace(place), ...agent });
      if (before) await table.delete(keys.waiting(before.agent_id, before.thumbprint));
      await table.put({ ...key, ...agent });
    },

    /** The keys that wait under an agent_id. */
    async find(agentId: string, nowMs: number): Promise<WaitingItem[]> {
      const { pk, sk } = keys.waiting(agentId, '');
      const { items } = await table.query<WaitingItem>(pk, {
        range: 'sk > :waits',
        ExpressionAttributeValues: { ':waits': sk },
        Limit: 100,
      });
      return alive(items, nowMs);
    },

    /** Ends the waiting of one agent. */
    remove: (agentId: string, thumbprint: string): Promise<boolean> => table.delete(keys.waiting(agentId, thumbprint)),

    /** A page of those who wait; it may hold fewer than `count` although more follow. */
    async list(after: string | undefined, count: number, nowMs: number) {
      const { agents, next } = await readPlaces(after, count, nowMs);
      return { agents, ...(next !== undefined && { next }) };
    },

    /** Removes everybody who waits. */
    async clear(nowMs: number): Promise<number> {
      let removed = 0;
      for (let after: string | undefined = ''; after !== undefined; ) {
        const page = await readPlaces(after || undefined, 100, nowMs);
        const waiting = page.items.map((item) => keys.waiting(item.agent_id, item.thumbprint));
        // one that has asked again may have had two places
        const distinct = new Map(waiting.map((key) => [`${key.pk} ${key.sk}`, key])).values();
        await table.deleteAll([...distinct, ...page.items.map(({ place }) => keys.waitingPlace(place))]);
        removed += page.agents.length;
        after = page.next;
      }
      return removed;
    },
  };
}
