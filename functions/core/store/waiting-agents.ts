import { unavailable } from '../api-error.ts';
import { newUlid } from '../ulid.ts';
import { keys } from './keys.ts';
import type { Item, Table } from './table.ts';

/** How many agents may wait for approval at a time. */
export const maxWaiting = 1_000;

/** How long an agent waits for approval before it is forgotten, in seconds. */
export const waitSeconds = 7 * 24 * 3_600;

const daySeconds = 24 * 3_600;

const maxAttempts = 5;

/** The places of those who wait, counted by the day (UTC) on which their waiting ends. */
interface WaitingItem extends Item {
  /** the first day that counts: the places of those before it go when they are needed */
  today: number;
  /** by day since the epoch */
  places: Record<string, number>;
  total: number;
  /** who was counted last: by it a write whose answer was lost is recognised */
  last: string;
}

/**
 * Counts those who wait for approval. There are never more than {@link maxWaiting}: each takes its place with a conditional write before its
 * record is written. A place is free again once it is given back, or at the end of the day (UTC) on which its holder's waiting has ended; so is
 * the place of a request that was cut short before it wrote a record.
 */
export function openWaitingAgents(table: Table) {
  const key = keys.waitingAgents();
  const dayOf = (seconds: number): string => String(Math.floor(seconds / daySeconds));

  return {
    /**
     * Takes a place until the end of a wait that begins now; false if all are taken.
     * @throws ApiError SERVICE_UNAVAILABLE
     */
    async take(nowMs: number): Promise<boolean> {
      const nowSeconds = Math.floor(nowMs / 1000);
      const today = Number(dayOf(nowSeconds));
      const day = dayOf(nowSeconds + waitSeconds);
      const token = newUlid();
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const isTaken = await table.update(key, {
          UpdateExpression: 'SET #places.#day = if_not_exists(#places.#day, :none) + :one, #total = #total + :one, #last = :token',
          ConditionExpression: '#total < :max AND #last <> :token',
          ExpressionAttributeNames: { '#places': 'places', '#day': day, '#total': 'total', '#last': 'last' },
          ExpressionAttributeValues: { ':none': 0, ':one': 1, ':max': maxWaiting, ':token': token },
        });
        if (isTaken) return true;
        const seen = await table.get<WaitingItem>(key);
        if (seen?.last === token) return true;
        if (!seen || seen.today < today) await moveTo(today, seen);
        else if (seen.total >= maxWaiting) return false;
      }
      throw unavailable('Many agents ask for approval at once. Try again after Retry-After.');
    },

    /** Gives back the place of an agent whose waiting would have ended at `endsAt`, in seconds since the epoch. */
    async giveBack(endsAt: number): Promise<void> {
      await table.update(key, {
        UpdateExpression: 'SET #places.#day = #places.#day - :one, #total = #total - :one, #last = :token',
        ConditionExpression: '#places.#day > :none AND #last <> :token',
        ExpressionAttributeNames: { '#places': 'places', '#day': dayOf(endsAt), '#total': 'total', '#last': 'last' },
        ExpressionAttributeValues: { ':none': 0, ':one': 1, ':token': newUlid() },
      });
    },
  };

  /** Lets the places of past days go. Nothing happens if somebody else has done so, or counts meanwhile. */
  async function moveTo(today: number, seen: WaitingItem | undefined): Promise<void> {
    const left = Object.entries(seen?.places ?? {}).filter(([day]) => Number(day) >= today);
    const total = left.reduce((sum, [, count]) => sum + count, 0);
    const item = { ...key, today, places: Object.fromEntries(left), total, last: newUlid() };
    const isUnchanged = {
      ConditionExpression: '#last = :seen',
      ExpressionAttributeNames: { '#last': 'last' },
      ExpressionAttributeValues: { ':seen': seen?.last },
    };
    await table.put(item, seen ? isUnchanged : { ConditionExpression: 'attribute_not_exists(pk)' });
  }
}
