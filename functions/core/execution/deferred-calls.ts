import type { ApprovalContent } from '../../../schemas/deferred.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { unavailable } from '../api-error.ts';
import type { JsonValue } from '../json.ts';
import type { Condition } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { isUlid } from '../ulid.ts';
import { type CallItem, describeCall, type HeldCall, isFree, type KeyedRequest, newCall, outcomeMembers } from './idempotent-call.ts';
import { type Outcome, pack, unpack } from './outcome.ts';
import { type Place, requirePlace } from './waiting-places.ts';

/** All that making a deferred call takes. What it is bound to must still hold then. */
export interface DeferredContent {
  /** of the gate, as the agent calls it */
  baseUrl: string;
  /** of the request that asked for the call */
  requestId: string;
  claims: PatClaims;
  /** of the request */
  body: JsonValue;
  intentDigest: string;
  /** the namespace of the service, if it has one: its admins decide */
  namespace?: string | undefined;
  /** of the trace that the request was part of */
  trace: Record<string, string>;
  /** what a person sees of it besides its arguments, which are those of the body; absent if nobody has to approve it */
  shown?: Omit<ApprovalContent, 'parameters'>;
  /** the arguments that the intent adds to those of the body */
  defaults: Record<string, unknown>;
}

/** A deferred call, as it was read. */
export interface DeferredCall {
  executionId: string;
  account: string;
  key: string;
  item: CallItem;
  /** its places in the queue for approval */
  place?: Place;
  content: DeferredContent;
}

/** Leads from the id of an execution to the record of its call. */
interface ExecutionItem extends Item {
  account: string;
  key: string;
  place?: Place;
  expires_at: number;
}

/** An attempt fails only if others take the same places meanwhile. */
const maxAttempts = 8;

/** Only the worker that has claimed a call may end it. */
const isClaimedBy = (executionId: string, run: string): Condition[] => [
  ['=', 'execution_id', executionId],
  ['=', 'state', 'running'],
  ['=', 'run', run],
];

/** The write that moves a call from one state to the next, unless another one has moved it, or its time is up. */
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

/** The records of calls that their callers do not wait for. */
export function openDeferredCalls(table: Table) {
  const writesOf = (request: KeyedRequest, members: Partial<CallItem>, place?: Place): Write[] => {
    const { account, key, executionId, nowMs } = request;
    const call = { ...newCall(request, place ? 'waiting' : 'queued'), ...members };
    const { expires_at } = call;
    return [
      { put: call, when: isFree(nowMs) },
      { put: { ...keys.execution(executionId), account, key, ...(place && { place }), expires_at }, when: [['absent', 'pk']] },
    ];
  };

  /** What has become of the key of a request meanwhile; undefined if it is free. */
  async function findHeld(request: KeyedRequest): Promise<{ state: 'started' } | HeldCall | undefined> {
    const held = await table.get<CallItem>(keys.call(request.account, request.key));
    if (held?.execution_id === request.executionId) return { state: 'started' };
    return held && held.expires_at > request.nowMs / 1_000 && !held.may_repeat ? describeCall(held, request) : undefined;
  }

  return {
    /**
     * Claims the key for a call that is made later, with one transaction. A call that a person has to approve also takes a place in their queue.
     * @param untilMs - when the call is given up
     * @throws ApiError TOO_MANY_REQUESTS if too many calls wait, SERVICE_UNAVAILABLE
     */
    async begin(request: KeyedRequest, content: DeferredContent, untilMs: number): Promise<{ state: 'started' } | HeldCall> {
      const { account, executionId, nowMs } = request;
      const members = { until: untilMs, deferred: await pack(content) };
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const wanted = { account, executionId, namespace: content.namespace, untilMs, nowMs };
        const places = content.shown && (await requirePlace(table, wanted).catch((refusal: unknown) => ({ refusal })));
        if (places && 'refusal' in places) {
          // of two requests with one key, the other may have taken the last place
          const held = await findHeld(request);
          if (held) return held;
          throw places.refusal;
        }
        if ((await table.transact([...writesOf(request, members, places?.place), ...(places?.writes ?? [])])) === true)
          return { state: 'started' };
        const held = await findHeld(request);
        if (held) return held;
        await table.pause?.(attempt, 0);
      }
      throw unavailable('Many calls are being queued at once. Nothing was queued for this one; try again after Retry-After.');
    },

    /** The deferred call with this id, unless it was forgotten, or its key has been used for another call since. */
    async find(executionId: string): Promise<DeferredCall | undefined> {
      const entry = isUlid(executionId) ? await table.get<ExecutionItem>(keys.execution(executionId)) : undefined;
      if (!entry) return undefined;
      const { account, key, place } = entry;
      const item = await table.get<CallItem>(keys.call(account, key));
      if (item?.execution_id !== executionId || !item.deferred) return undefined;
      const content = (await unpack(item.deferred)) as DeferredContent;
      return { executionId, account, key, item, content, ...(place && { place }) };
    },

    /** The same for many calls, in their order, without those that are not there. */
    async findAll(executionIds: readonly string[]): Promise<DeferredCall[]> {
      const found: (DeferredCall | undefined)[] = await Promise.all(executionIds.map((id) => this.find(id)));
      return found.filter((call) => call !== undefined);
    },

    /** What has become of a call. */
    stateOf: ({ item }: DeferredCall, nowMs: number): Promise<HeldCall> => describeCall(item, { fingerprint: item.fingerprint, nowMs }),

    /**
     * Claims a queued call for one run of the worker.
     * @returns whether this run, and no other, may make the call
     */
    async claim(call: DeferredCall, run: string, nowMs: number): Promise<boolean> {
      const { update, ...change } = moveCall(call, 'queued', { state: 'running', started_at: nowMs, run }, nowMs);
      if (await table.update(update, change)) return true;
      // the answer to a write that took effect may have been lost
      const held = await table.get<CallItem>(update);
      return held?.execution_id === call.executionId && held.run === run;
    },

    /** Keeps what a call ended with. @param mayRepeat - nothing was sent, for a reason that passes: the key may be used again */
    async finish({ account, key, executionId, item }: DeferredCall, run: string, outcome: Outcome, mayRepeat: boolean): Promise<void> {
      const set = { ...(await outcomeMembers(outcome, item.deferred)), ...(mayRepeat && { may_repeat: true }) };
      await table.update(keys.call(account, key), { set, when: isClaimedBy(executionId, run), isQuiet: true });
    },
  };
}

export type DeferredCalls = ReturnType<typeof openDeferredCalls>;
