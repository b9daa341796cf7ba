import type { ApprovalContent } from '../../../schemas/deferred.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { type ApiError, isUnavailable, unavailable } from '../api-error.ts';
import type { JsonValue } from '../json.ts';
import { pack, unpack } from '../pack.ts';
import type { Entry } from '../receipts/entries.ts';
import type { Condition } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import { backOff } from '../table/retry.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { isUlid } from '../ulid.ts';
import {
  type CallItem,
  describeUsedKey,
  isFree,
  isOwn,
  isTaken,
  type KeyedRequest,
  longestDeferredRunMs,
  newCall,
  outcomeMembers,
  type UsedKey,
  writeWith,
} from './idempotent-call-store.ts';
import type { Outcome } from './outcome.ts';
import { freeSlots, type Queue, requireSlots, type Slots } from './queue-slots.ts';

/** Everything needed to make a deferred call. */
export interface DeferredContent {
  baseUrl: string;
  requestId: string;
  claims: PatClaims;
  body: JsonValue;
  intentDigest: string;
  namespace?: string | undefined;
  trace: Record<string, string>;
  /** what the approver sees besides the arguments; absent if the call needs no approval */
  shown?: Omit<ApprovalContent, 'parameters'>;
  /** default arguments of the intent */
  defaults: Record<string, unknown>;
}

export interface DeferredCall {
  executionId: string;
  account: string;
  key: string;
  item: CallItem;
  /** in its queue */
  slots: Slots;
  content: DeferredContent;
}

interface ExecutionItem extends Item {
  account: string;
  key: string;
  slots: Slots;
  expires_at: number;
}

/** An attempt fails only if another call takes one of its slots. */
const maxAttempts = 8;

/** The end of a call. */
export interface Ended {
  /** id of the run that made the call */
  run: string;
  outcome: Outcome;
  /** the upstream did not act, for a temporary reason, so the key may be used again */
  mayRepeat: boolean;
  receipt?: Entry | undefined;
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

const queueOf = ({ shown }: DeferredContent): Queue => (shown ? 'approval' : 'callQueue');

export function openDeferredCalls(table: Table) {
  const writesOf = (request: KeyedRequest, members: Pick<CallItem, 'state'> & Partial<CallItem>, slots: Slots): Write[] => {
    const { account, key, executionId, nowMs } = request;
    const call = { ...newCall(request, members.state), ...members };
    const { expires_at } = call;
    return [
      { put: call, when: isFree(nowMs) },
      { put: { ...keys.execution(executionId), account, key, slots, expires_at }, when: [['absent', 'pk']] },
    ];
  };

  /** Reads the state of the request's key; undefined if the key is free. */
  async function findUsedKey(request: KeyedRequest): Promise<{ state: 'started' } | UsedKey | undefined> {
    const stored = await table.get<CallItem>(keys.call(request.account, request.key));
    if (stored?.execution_id === request.executionId) return { state: 'started' };
    return stored && isTaken(stored, request.nowMs) ? describeUsedKey(stored, request) : undefined;
  }

  const leave = (call: DeferredCall): Promise<void> => freeSlots(table, queueOf(call.content), call);

  return {
    /**
     * Claims the key and the queue slots of a call that is made later, with one transaction.
     * @param untilMs - deadline after which the call expires, in milliseconds since the epoch
     * @throws ApiError TOO_MANY_REQUESTS if too many calls wait, SERVICE_UNAVAILABLE
     */
    async begin(request: KeyedRequest, content: DeferredContent, untilMs: number): Promise<{ state: 'started' } | UsedKey> {
      const { account, executionId, nowMs } = request;
      const members = { state: content.shown ? 'waiting' : 'queued', until: untilMs, deferred: await pack(content) } as const;
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const free = await requireSlots(table, queueOf(content), {
          account,
          executionId,
          namespace: content.namespace,
          untilMs: content.shown ? untilMs : untilMs + longestDeferredRunMs,
          nowMs,
        }).catch((refusal: unknown) => ({ refusal }));
        if ('refusal' in free) {
          // a concurrent request with the same key may have taken the last slot
          const used = await findUsedKey(request);
          if (used) return used;
          throw free.refusal;
        }
        if ((await table.transact([...writesOf(request, members, free.slots), ...free.writes])) === true) return { state: 'started' };
        const used = await findUsedKey(request);
        if (used) return used;
        await table.pause?.(attempt, 0);
      }
      throw unavailable('Too many calls are being queued at the same time. This one was not queued; try again after Retry-After.');
    },

    /** Finds a deferred call by id; undefined if it has expired or its key has been reused. */
    async find(executionId: string): Promise<DeferredCall | undefined> {
      const entry = isUlid(executionId) ? await table.get<ExecutionItem>(keys.execution(executionId)) : undefined;
      if (!entry) return undefined;
      const { account, key, slots } = entry;
      const item = await table.get<CallItem>(keys.call(account, key));
      if (item?.execution_id !== executionId || !item.deferred) return undefined;
      const content = (await unpack(item.deferred)) as DeferredContent;
      return { executionId, account, key, item, content, slots };
    },

    stateOf: ({ item }: DeferredCall, nowMs: number): Promise<UsedKey> => describeUsedKey(item, { fingerprint: item.fingerprint, nowMs }),

    /**
     * Makes a waiting call void because its circumstances have changed. It stays void even if they change back.
     * @returns the call's state, which differs if somebody has decided about the call meanwhile
     */
    async makeVoid(call: DeferredCall, { message }: ApiError, nowMs: number): Promise<UsedKey> {
      const { update, ...change } = moveCall(call, 'waiting', { state: 'void', started_at: nowMs, reason: message }, nowMs);
      if (await table.update(update, { ...change, isQuiet: true })) {
        await leave(call);
        return { state: 'expired', reason: message };
      }
      const { fingerprint } = call.item;
      const stored = await table.get<CallItem>(update);
      return stored?.execution_id === call.executionId
        ? describeUsedKey(stored, { fingerprint, nowMs })
        : { state: 'expired', reason: message };
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
    async finish(call: DeferredCall, { run, outcome, mayRepeat, receipt }: Ended, leftMs: () => number): Promise<void> {
      const { account, key, executionId, item } = call;
      const set = { ...(await outcomeMembers(outcome, item.deferred)), ...(mayRepeat && { may_repeat: true }) };
      for (let attempt = 0; ; attempt++) {
        try {
          await writeWith(table, keys.call(account, key), { set, when: [...isOwn(executionId), ['=', 'run', run]] }, receipt);
          return;
        } catch (error) {
          if (!isUnavailable(error) || leftMs() < reservedMs) throw error;
          await (table.pause ?? backOff)(attempt, usualWriteMs);
        }
      }
    },

    /** Frees the slots of a call that needed no approval; nothing else does so after the call. */
    leave: async (call: DeferredCall): Promise<void> => (call.content.shown ? undefined : leave(call)),
  };
}

export type DeferredCalls = ReturnType<typeof openDeferredCalls>;
