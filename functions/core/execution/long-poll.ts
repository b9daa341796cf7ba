import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiRequest } from '../http/request.ts';
import { bounded } from '../invocation.ts';
import { describeCause, log } from '../log.ts';
import type { Update } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** How long an answer is held back for a call that ends in the meantime, and how often it is looked for, in milliseconds. */
const maxPollMs = 3_000;
const pollMs = 500;
/** what an answer takes, in milliseconds */
const marginMs = 4_000;
const writeMs = 500;

/** Answers held back at a time, by all instances: each takes an environment, of which a new account has ten, and no quota. */
const maxLongPolls = 2;

/** Waits briefly for the end of a call, or not at all while too many others wait. @returns undefined if it has not ended */
export type LongPoll = <T>(read: () => Promise<T | undefined>, request: Pick<ApiRequest, 'remainingMs'>) => Promise<T | undefined>;

/** Without a free slot, or if it cannot be taken, the request is answered immediately. */
export function openLongPoll(table: Pick<Table, 'update'>, pause: (ms: number) => Promise<unknown> = sleep): LongPoll {
  async function write(slot: number, update: Update): Promise<boolean> {
    try {
      return (await bounded(writeMs, () => table.update(keys.longPoll(slot), { ...update, isQuiet: true }))) !== false;
    } catch (error) {
      log.warn('place of a waiting request not written', { cause: describeCause(error) });
      return false;
    }
  }

  /** @returns a function that frees the slot, which otherwise expires */
  async function takeSlot(): Promise<(() => Promise<boolean>) | undefined> {
    const nowMs = Date.now();
    const until = nowMs + maxPollMs + marginMs;
    const taken: Update = {
      set: { until, expires_at: Math.ceil(until / 1_000) },
      when: [['any', ['absent', 'until'], ['<=', 'until', nowMs]]],
    };
    for (let slot = 0; slot < maxLongPolls; slot += 1)
      if (await write(slot, taken)) return () => write(slot, { set: { until: 0 }, when: [['=', 'until', until]] });
    return undefined;
  }

  return async (read, request) => {
    const ended = await read();
    const leave = ended ? undefined : await takeSlot();
    if (!leave) return ended;
    const untilMs = Date.now() + Math.min(maxPollMs, request.remainingMs() - marginMs);
    try {
      while (Date.now() + pollMs <= untilMs) {
        await pause(pollMs);
        const endedSince = await read();
        if (endedSince) return endedSince;
      }
      return undefined;
    } finally {
      await leave();
    }
  };
}
