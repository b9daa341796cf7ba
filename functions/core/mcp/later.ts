import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiRequest } from '../http/request.ts';
import { bounded } from '../invocation.ts';
import { describeCause, log } from '../log.ts';
import type { Update } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { Abilities } from './abilities.ts';
import { RpcError } from './json-rpc.ts';
import { createTask } from './tasks.ts';
import type { Ended, PendingCall } from './tool.ts';

/** How long an answer is held back for a call that ends in the meantime, and how often it is looked for, in milliseconds. */
const longestHoldMs = 3_000;
const pollMs = 500;
/** what an answer takes, in milliseconds */
const marginMs = 4_000;
const writeMs = 500;

/** Answers held back at a time, by all instances: each takes an environment, of which a new account has ten, and no quota. */
const maxHolds = 2;

type ReadEnd = () => Promise<Ended | undefined>;

/** Waits briefly for the end of a call, or not at all while too many others wait. @returns undefined if it has not ended */
export type Hold = (read: ReadEnd, request: Pick<ApiRequest, 'remainingMs'>) => Promise<Ended | undefined>;

/** A place that cannot be taken fails no request: that is answered at once. */
export function openHold(table: Pick<Table, 'update'>, pause: (ms: number) => Promise<unknown> = sleep): Hold {
  async function write(place: number, update: Update): Promise<boolean> {
    try {
      return (await bounded(writeMs, () => table.update(keys.hold(place), { ...update, isQuiet: true }))) !== false;
    } catch (error) {
      log.warn('place of a waiting request not written', { cause: describeCause(error) });
      return false;
    }
  }

  /** @returns a function that frees the place; it becomes free by itself if its environment has crashed */
  async function takePlace(): Promise<(() => Promise<boolean>) | undefined> {
    const nowMs = Date.now();
    const until = nowMs + longestHoldMs + marginMs;
    const taken: Update = {
      set: { until, expires_at: Math.ceil(until / 1_000) },
      when: [['any', ['absent', 'until'], ['<=', 'until', nowMs]]],
    };
    for (let place = 0; place < maxHolds; place += 1)
      if (await write(place, taken)) return () => write(place, { set: { until: 0 }, when: [['=', 'until', until]] });
    return undefined;
  }

  return async (read, request) => {
    const ended = await read();
    const leave = ended ? undefined : await takePlace();
    if (!leave) return ended;
    const untilMs = Date.now() + Math.min(longestHoldMs, request.remainingMs() - marginMs);
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

/**
 * Answers a call that is made later: with a task if the client takes one, else with the page that shows it if the client opens pages, else with words.
 * @throws RpcError for a legacy client that opens pages
 */
export async function answerPending(call: PendingCall, client: Abilities, request: ApiRequest, hold: Hold): Promise<object> {
  const { state, isOfConnection } = call;
  if (client.tasks && isOfConnection) return createTask(client.era, call.executionId, state);
  const isSeen = client.answered !== undefined;
  if (client.urls && state.status === 'waiting' && !isSeen) return elicit(call, client, request);
  const isSoon = client.answered === 'accept' || (state.status === 'working' && !call.isAsked);
  return (isSoon && (await hold(call.readEnd, request))?.result) || explain(call);
}

/** Sends the person to the page that shows the call (2025-11-25 and 2026-07-28, "URL Mode Elicitation"). */
function elicit({ executionId, key }: PendingCall, { era }: Abilities, { baseUrl }: ApiRequest): object {
  const message = 'A person has to approve this call. The page shows it to the admins of this gate, who decide there.';
  const params = { mode: 'url', message, url: `${baseUrl}/console#/approvals/${executionId}` };
  if (era === 'modern')
    return { resultType: 'input_required', inputRequests: { approval: { method: 'elicitation/create', params } }, requestState: key };
  throw new RpcError('urlElicitationRequired', `${message} Then make the same call again.`, {
    status: 200,
    data: { elicitations: [{ ...params, elicitationId: executionId }] },
  });
}

/** Says how to ask again. */
function explain({ state, key }: PendingCall): object {
  const isWaiting = state.status === 'waiting';
  const happened = isWaiting
    ? `This call waits for a person's approval until ${state.expires_at}. Nothing has been sent.`
    : 'This call is being made, and has not ended.';
  const next = `${isWaiting ? 'Tell the person you work for that an admin of this gate has to approve it. When they have, make' : 'In a few seconds, make'} the same call again with the same arguments and the idempotency_key ${key}: it is made only once.`;
  const { execution: _, ...shown } = state;
  return {
    content: [{ type: 'text', text: `${happened}\nNext: ${next}` }],
    structuredContent: { ...shown, idempotency_key: key, next },
    isError: false,
  };
}
