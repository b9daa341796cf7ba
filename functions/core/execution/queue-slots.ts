import { randomInt } from 'node:crypto';
import { ApiError } from '../api-error.ts';
import { describeCause, log } from '../log.ts';
import type { Condition } from '../table/expression.ts';
import { keys, partitions } from '../table/keys.ts';
import { pagesOf } from '../table/pages.ts';
import type { Item, Table, Write } from '../table/table.ts';

/** Maximum number of calls in each queue, in all and per holder. */
export const maxWaitingCalls = 1_000;
export const maxOfHolder = 20;

/** `approval`: calls that wait for approval; `callQueue`: calls that run in the background without one. */
export type Queue = 'approval' | 'callQueue';

/** The slots of a call in its queue and among its holder's calls there. Slots are numbered, so concurrent requests cannot exceed the maximum. */
export interface Slots {
  among_all: number;
  among_own: number;
}

interface SlotItem extends Item {
  execution_id: string;
  account: string;
  /** namespace of the service, whose admins decide about the call */
  namespace?: string;
  slots: Slots;
  /** when the slot becomes free, in milliseconds since the epoch */
  until: number;
}

interface Wanted {
  account: string;
  executionId: string;
  namespace: string | undefined;
  untilMs: number;
  nowMs: number;
}

const tooMany = (message: string) =>
  new ApiError('TOO_MANY_REQUESTS', message, {
    details: { reason: 'waiting_calls', outcome: 'not_sent' },
    headers: { 'Retry-After': '60' },
  });

const refusals: Record<Queue, Record<'ofHolder' | 'inAll', string>> = {
  approval: {
    ofHolder: `${maxOfHolder} of your calls are waiting for approval, which is the maximum. Wait until some are decided.`,
    inAll: 'Too many calls are waiting for approval. Try again later, or ask the operators of this gate to decide.',
  },
  callQueue: {
    ofHolder: `${maxOfHolder} of your calls are being made in the background, which is the maximum. Wait until some have ended.`,
    inAll: 'Too many calls are being made in the background. Try again later, or send this one without Prefer: respond-async.',
  },
};

/** The unexpired calls of a queue, oldest first. */
export async function listQueue(table: Table, queue: Queue, nowMs: number): Promise<SlotItem[]> {
  const waiting = (await Array.fromAsync(pagesOf<SlotItem>(table, partitions[queue].prefix))).flat();
  // ids are ULIDs, which sort by time
  return waiting.filter(({ until }) => until > nowMs).sort((a, b) => (a.execution_id < b.execution_id ? -1 : 1));
}

/** A random free number below `count`, so that concurrent requests rarely collide. */
function chooseFree(count: number, taken: ReadonlySet<number>): number {
  const free = Array.from({ length: count }, (_, number) => number).filter((number) => !taken.has(number));
  return free[randomInt(free.length)] as number;
}

/**
 * Chooses free slots for a call.
 * @returns the slots, and the writes that take them
 * @throws ApiError TOO_MANY_REQUESTS if none is free
 */
export async function requireSlots(
  table: Table,
  queue: Queue,
  { account, executionId, namespace, untilMs, nowMs }: Wanted,
): Promise<{ slots: Slots; writes: Write[] }> {
  const waiting = await listQueue(table, queue, nowMs);
  const own = waiting.filter((item) => item.account === account);
  if (own.length >= maxOfHolder) throw tooMany(refusals[queue].ofHolder);
  if (waiting.length >= maxWaitingCalls) throw tooMany(refusals[queue].inAll);
  const slots = {
    among_all: chooseFree(maxWaitingCalls, new Set(waiting.map((item) => item.slots.among_all))),
    among_own: chooseFree(maxOfHolder, new Set(own.map((item) => item.slots.among_own))),
  };
  const taken = { execution_id: executionId, account, namespace, slots, until: untilMs, expires_at: Math.ceil(untilMs / 1_000) };
  const when: Condition[] = [['any', ['absent', 'pk'], ['<=', 'until', nowMs]]];
  return {
    slots,
    writes: [
      { put: { ...keys.queueSlot(queue, '', slots.among_all), ...taken }, when },
      { put: { ...keys.queueSlot(queue, account, slots.among_own), ...taken }, when },
    ],
  };
}

/** Frees the slots of a call, if it still has them. If a write fails, the slots become free when the call expires. */
export async function freeSlots(
  table: Table,
  queue: Queue,
  { account, executionId, slots }: { account: string; executionId: string; slots: Slots },
): Promise<void> {
  const taken = [keys.queueSlot(queue, '', slots.among_all), keys.queueSlot(queue, account, slots.among_own)];
  await Promise.all(taken.map((key) => table.delete(key, { when: [['=', 'execution_id', executionId]] }))).catch((error: unknown) =>
    log.warn('slots of a deferred call kept', { cause: describeCause(error) }),
  );
}
