import type { ExecutionInput } from '../../../schemas/execution.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import type { FoundAgent } from '../activity/agent.ts';
import { pack, unpack } from '../json/pack.ts';
import { type ApiError, isUnavailable } from '../runtime/api-error.ts';
import { isUlid } from '../runtime/ulid.ts';
import type { Condition } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import { backOff, persist } from '../table/retry.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { digestHolder, isCovered, leaveQueue, listQueue, listStale, planEntry, type Queue, queuedCall } from './call-queue.ts';
import {
  type CallItem,
  describeUsedKey,
  isFree,
  isOwn,
  isTaken,
  type KeyedRequest,
  longestDeferredRunMs,
  newCall,
  type Outcome,
  outcomeMembers,
  type UsedKey,
  writeWith,
} from './idempotent-call-store.ts';

/** What is stored with a call that waits for approval; a feature adds what it shows to those who decide. */
export interface HeldContent {
  shown: {
    /** since when the call waits */
    since: string;
    /** the header fields of the service that a decision covers */
    headers?: Record<string, string> | undefined;
    /** the person whose token of the service the call will carry, if any */
    calls_as?: string | undefined;
  };
}

/** Everything needed to make a deferred call. */
export interface DeferredContent extends Partial<HeldContent> {
  baseUrl: string;
  requestId: string;
  claims: PatClaims;
  body: ExecutionInput;
  intentDigest: string;
  namespace?: string | undefined;
  trace: Record<string, string>;
}

export interface DeferredCall {
  executionId: string;
  account: string;
  key: string;
  item: CallItem;
  content: DeferredContent;
}

interface ExecutionItem extends Item {
  account: string;
  key: string;
  expires_at: number;
}

/** The end of a call. */
export interface Ended {
  /** id of the run that made the call */
  run: string;
  outcome: Outcome;
  /** the upstream did not act, so that the key may be used again once the outcome has been told; an approval lasts if nothing was `sent` */
  repeatable: 'sent' | 'not sent' | undefined;
  /** stored together with the outcome */
  writes?: readonly Write[] | undefined;
}

/** Time reserved for a last attempt to store an outcome, in milliseconds. */
const reservedMs = 4_000;

/** Usual duration of a write, in milliseconds. */
const usualWriteMs = 20;

/** The write that moves a call to its next state, unless it has already moved or expired. */
export const moveCall = (
  { account, key, executionId }: Pick<DeferredCall, 'account' | 'key' | 'executionId'>,
  from: CallItem['state'],
  set: Partial<CallItem>,
  nowMs: number,
) => ({
  update: keys.call(account, key),
  set,
  when: [
    ['=', 'execution_id', executionId],
    ['=', 'state', from],
    ['>', 'until', nowMs],
  ] satisfies Condition[],
});

const queueOf = ({ shown }: DeferredContent): Queue => (shown ? 'held' : 'callQueue');

/** The state of the calls in each queue that have not begun. */
const unbegun = { held: 'waiting', callQueue: 'queued' } as const satisfies Record<Queue, CallItem['state']>;

const gaveWay = (queue: Queue): string =>
  `This call was displaced by another, because more calls ${queue === 'held' ? 'wait for approval' : 'are being made in the background'} than may, and its agent is new or has more of them. It is not made. Request it again later, under a new Idempotency-Key.`;

export function openDeferredCalls(table: Table) {
  const writesOf = (request: KeyedRequest, members: Pick<CallItem, 'state'> & Partial<CallItem>): Write[] => {
    const { account, key, executionId, nowMs } = request;
    const call = { ...newCall(request, members.state), ...members };
    const { expires_at } = call;
    return [
      { put: call, when: isFree(nowMs) },
      { put: { ...keys.execution(executionId), account, key, expires_at }, when: [['absent', 'pk']] },
    ];
  };

  /** Reads the state of the request's key; undefined if the key is free. */
  async function findUsedKey(request: KeyedRequest): Promise<{ state: 'started' } | UsedKey | undefined> {
    const stored = await table.get<CallItem>(keys.call(request.account, request.key));
    if (stored?.execution_id === request.executionId) return { state: 'started' };
    return stored && isTaken(stored, request.nowMs) ? describeUsedKey(stored, request) : undefined;
  }

  /** The write that makes a call void, unless it has begun; undefined if its record has expired. */
  async function planVoid(queue: Queue, executionId: string, reason: string, nowMs: number) {
    const entry = await table.get<ExecutionItem>(keys.execution(executionId));
    return entry && moveCall({ ...entry, executionId }, unbegun[queue], { state: 'void', started_at: nowMs, reason }, nowMs);
  }

  /** Finds a deferred call by id; undefined if it has expired or its key has been reused. */
  async function find(executionId: string): Promise<DeferredCall | undefined> {
    const entry = isUlid(executionId) ? await table.get<ExecutionItem>(keys.execution(executionId)) : undefined;
    if (!entry) return undefined;
    const { account, key } = entry;
    const item = await table.get<CallItem>(keys.call(account, key));
    if (item?.execution_id !== executionId || !item.deferred) return undefined;
    const content = (await unpack(item.deferred)) as DeferredContent;
    return { executionId, account, key, item, content };
  }

  const leave = ({ content, executionId }: DeferredCall): Promise<void> =>
    leaveQueue(table, queueOf(content), digestHolder(content.claims), [executionId]);

  /** Queues an approved call again that was certainly not sent, if the request repeats it while the approval lasts. */
  async function resume(request: KeyedRequest): Promise<UsedKey | undefined> {
    const { account, key, fingerprint, nowMs } = request;
    const resumed = await table.update<CallItem>(keys.call(account, key), {
      set: { state: 'queued', started_at: nowMs },
      remove: ['may_repeat', 'repeatable', 'outcome'],
      when: [
        ['=', 'may_repeat', true],
        ['=', 'decision', 'approve'],
        ['=', 'fingerprint', fingerprint],
        ['>', 'until', nowMs],
      ],
    });
    return resumed ? describeUsedKey(resumed, request) : undefined;
  }

  return {
    /**
     * Claims the key and a place in the queue for a call that is made later, with one transaction. If the queue is full, a call of a new agent or of one
     * with more calls gives way in the same transaction. An approved call that was not sent is resumed instead, without a place.
     * @param untilMs - deadline after which the call expires, in milliseconds since the epoch
     * @param sinceMs - when the agent got its first PAT, in milliseconds since the epoch
     * @throws ApiError TOO_MANY_REQUESTS if too many calls wait, SERVICE_UNAVAILABLE
     */
    async begin(
      request: KeyedRequest,
      content: DeferredContent,
      untilMs: number,
      sinceMs: number,
    ): Promise<{ state: 'started' } | UsedKey> {
      const { executionId: id, nowMs } = request;
      const queue = queueOf(content);
      const resumed = content.shown && (await resume(request));
      if (resumed) return resumed;
      const members = { state: unbegun[queue], until: untilMs, deferred: await pack(content) };
      const until = content.shown ? untilMs : untilMs + longestDeferredRunMs;
      const call = queuedCall(content.claims, { id, since: sinceMs, until, namespace: content.namespace });
      const begun = new Set<string>();
      return persist(async () => {
        const entry = await planEntry(table, queue, call, nowMs, begun).catch((refusal: unknown) => ({ refusal }));
        if ('refusal' in entry) {
          // a concurrent request with the same key may have taken the last place
          const used = await findUsedKey(request);
          if (used) return { value: used };
          throw entry.refusal;
        }
        const { write, displaced } = entry;
        const ended = displaced && (await planVoid(queue, displaced.id, gaveWay(queue), nowMs));
        const writes = [...writesOf(request, members), write, ...(ended ? [ended] : [])];
        const failed = await table.transact(writes);
        if (failed === true) return { value: { state: 'started' } as const };
        const used = await findUsedKey(request);
        if (used) return { value: used };
        if (displaced && failed.includes(writes.length - 1)) begun.add(displaced.id);
        return undefined;
      }, table.pause);
    },

    find,

    /** The calls of {@link listStale} that still wait. For one that does not, gives up its place and yields `gone`. */
    async *findStale(claims: PatClaims, nowMs: number): AsyncGenerator<DeferredCall | 'gone'> {
      for (const id of await listStale(table, 'held', claims, nowMs)) {
        const call = await find(id);
        if (call?.item.state === 'waiting') yield call;
        else {
          await leaveQueue(table, 'held', digestHolder(claims), [id]);
          yield 'gone';
        }
      }
    },

    stateOf: ({ item }: DeferredCall, nowMs: number): Promise<UsedKey> => describeUsedKey(item, { fingerprint: item.fingerprint, nowMs }),

    /**
     * Makes a waiting call void because its circumstances have changed. It stays void even if they change back.
     * @returns the call's state, which differs if somebody has decided about the call meanwhile
     */
    async makeVoid(call: DeferredCall, { message }: ApiError, nowMs: number): Promise<UsedKey> {
      const expired: UsedKey = { state: 'expired', reason: message, executionId: call.executionId };
      const { update, ...change } = moveCall(call, 'waiting', { state: 'void', started_at: nowMs, reason: message }, nowMs);
      if (await table.update(update, { ...change, isQuiet: true })) {
        await leave(call);
        return expired;
      }
      const { fingerprint } = call.item;
      const stored = await table.get<CallItem>(update);
      return stored?.execution_id === call.executionId ? describeUsedKey(stored, { fingerprint, nowMs }) : expired;
    },

    /**
     * Claims a queued call for one run of the worker.
     * @returns whether this run may make the call; at most one run may
     */
    async claim(call: DeferredCall, run: string, nowMs: number): Promise<boolean> {
      const { update, ...change } = moveCall(call, 'queued', { state: 'running', started_at: nowMs, run }, nowMs);
      if (await table.update(update, change)) return true;
      // the write may have taken effect although its response was lost
      const stored = await table.get<CallItem>(update);
      return stored?.execution_id === call.executionId && stored.run === run;
    },

    /**
     * Stores the outcome of a call, and retries while the table cannot be reached: without it, the outcome is unknown.
     * @param leftMs - remaining time of the run, in milliseconds
     */
    async finish(call: DeferredCall, { run, outcome, repeatable, writes }: Ended, leftMs: () => number): Promise<void> {
      const { account, key, executionId, item } = call;
      const members = await outcomeMembers(outcome, item.deferred);
      const set = { ...members, ...(repeatable && { repeatable: run }), ...(repeatable === 'sent' && { until: 0 }) };
      for (let attempt = 0; ; attempt++) {
        try {
          await writeWith(table, keys.call(account, key), { set, when: [...isOwn(executionId), ['=', 'run', run]] }, writes);
          return;
        } catch (error) {
          if (!isUnavailable(error) || leftMs() < reservedMs) throw error;
          await (table.pause ?? backOff)(attempt, usualWriteMs);
        }
      }
    },

    /** Gives up the place of a call in its queue. */
    leave,

    /** Voids the calls of a blocked agent that have not begun, and gives up their places. */
    async stop(agent: FoundAgent, { message }: ApiError, nowMs: number): Promise<void> {
      for (const queue of ['held', 'callQueue'] as const) {
        const calls = (await listQueue(table, queue, nowMs)).filter((call) => isCovered(call, agent));
        const ended = await Promise.all(
          calls.map(async ({ id }) => {
            const { update, ...change } = (await planVoid(queue, id, message, nowMs)) ?? {};
            return !update || (await table.update(update, { ...change, isQuiet: true })) !== false;
          }),
        );
        const left = calls.filter((_, at) => ended[at]);
        for (const [holder, own] of Map.groupBy(left, (call) => call.holder))
          await leaveQueue(
            table,
            queue,
            holder,
            own.map(({ id }) => id),
          );
      }
    },
  };
}

export type DeferredCalls = ReturnType<typeof openDeferredCalls>;
