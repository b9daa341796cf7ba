import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiRequest } from '../http/request.ts';
import { bounded } from '../invocation.ts';
import { describeCause, log } from '../log.ts';
import type { Update } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** Longest wait for a call to end, and the interval between reads, in milliseconds. */
const maxPollMs = 3_000;
const pollMs = 500;
/** Time reserved for answering, in milliseconds. */
const marginMs = 4_000;
const writeMs = 500;

/** Maximum number of concurrent long polls of all instances: each occupies an environment (a new account has ten) and uses no quota. */
const maxLongPolls = 2;

/** Waits briefly for a call to end, or not at all while too many others wait. @returns undefined if the call has not ended */
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
