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

/** A place that cannot be taken fails no request: that is answered at once. */
export function openLongPoll(table: Pick<Table, 'update'>, pause: (ms: number) => Promise<unknown> = sleep): LongPoll {
  async function write(place: number, update: Update): Promise<boolean> {
    try {
      return (await bounded(writeMs, () => table.update(keys.longPoll(place), { ...update, isQuiet: true }))) !== false;
    } catch (error) {
      log.warn('place of a waiting request not written', { cause: describeCause(error) });
      return false;
    }
  }

  /** @returns a function that frees the place; it becomes free by itself if its environment has crashed */
  async function takePlace(): Promise<(() => Promise<boolean>) | undefined> {
    const nowMs = Date.now();
    const until = nowMs + maxPollMs + marginMs;
    const taken: Update = {
      set: { until, expires_at: Math.ceil(until / 1_000) },
      when: [['any', ['absent', 'until'], ['<=', 'until', nowMs]]],
    };
    for (let place = 0; place < maxLongPolls; place += 1)
      if (await write(place, taken)) return () => write(place, { set: { until: 0 }, when: [['=', 'until', until]] });
    return undefined;
  }

  return async (read, request) => {
    const ended = await read();
    const leave = ended ? undefined : await takePlace();
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
