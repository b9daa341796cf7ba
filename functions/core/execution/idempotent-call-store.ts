/**
 * Stores calls under an `Idempotency-Key`: `begin` claims the key with one conditional write, `finish` stores the outcome, `abandon` frees the key if
 * the upstream did not act. `once.ts` decides which applies; `deferred-call-store.ts` stores deferred calls in the same records.
 */
import { longestCallSeconds } from '../../../schemas/deferred.ts';
import type { ErrorCode } from '../../../schemas/errors.ts';
import type { ApiResponse } from '../http/response.ts';
import { pack, unpack } from '../json/pack.ts';
import { ApiError, type ApiErrorOptions, isUnavailable, unavailable } from '../runtime/api-error.ts';
import { describeCause, log } from '../runtime/log.ts';
import type { Condition, Update } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table, Write } from '../table/table.ts';

export type Outcome = ApiResponse | ApiError;

type PackedOutcome = { response: ApiResponse } | { error: { code: ErrorCode; message: string } & ApiErrorOptions };

export interface KeyedCall {
  /** account of the holder, so that the next owner of the agent_id cannot read the stored outcomes */
  account: string;
  key: string;
  /** new for each execution, so that a retry after a lost response is recognised */
  executionId: string;
}

export interface KeyedRequest extends KeyedCall {
  /** digest of the request; see {@link ./idempotency-key.ts} */
  fingerprint: string;
  /** milliseconds since the epoch */
  nowMs: number;
  /** whether the key is free again once its outcome has been given */
  isFreedByAnswer?: boolean | undefined;
}

/** The state of a key that has been used in the last 24 hours. */
export type UsedKey = StateOfCall & {
  /** id of the execution that used it */
  executionId: string;
};

type StateOfCall =
  /** `freesKeyOf`: the run that ended so, if its outcome has not been told, and frees the key once it has */
  | { state: 'replay'; outcome: Outcome; freesKeyOf?: string | undefined }
  /** the call ended, but its answer was too large to store */
  | { state: 'not_stored' }
  /** the key was used for another request */
  | { state: 'conflict' }
  | { state: 'running'; retryAfterSeconds: number }
  /** the process ended without storing an outcome: the upstream may or may not have been called */
  | { state: 'unknown' }
  | { state: 'waiting'; untilMs: number }
  /** the call runs in the background; `isIdle`: its worker is overdue */
  | { state: 'working'; isIdle: boolean }
  | { state: 'denied'; reason: string }
  | { state: 'expired'; reason: string };

/**
 * The record of a call under an idempotency key. An immediate call is `running`, then `done`. A deferred call starts as `waiting` if a person has to approve it,
 * else as `queued`. Each transition is one conditional write: `waiting` to `queued`, `denied` or `void`; `queued` to `running` or `void`; `running` to `done`; `done` to
 * `queued` if an approved call is resumed.
 */
export interface CallItem extends Item {
  execution_id: string;
  fingerprint: string;
  state: 'running' | 'done' | 'waiting' | 'queued' | 'denied' | 'void';
  /** start of this state (of `running`, if `done`), in milliseconds since the epoch */
  started_at: number;
  /** seconds since the epoch */
  expires_at: number;
  /** packed outcome; absent if it was too large */
  outcome?: Uint8Array;
  /** of a deferred call: its content, packed */
  deferred?: Uint8Array;
  /** of a waiting or queued deferred call: its deadline, in milliseconds since the epoch */
  until?: number;
  /** of a denied or void call */
  reason?: string;
  /** of a deferred call on which the upstream did not act, and that is not void: the run whose outcome frees the key once it has been given */
  repeatable?: string;
  /** of a deferred call: the key may be used again, because the outcome has been given */
  may_repeat?: true;
}

/** Lifetime of a key from the start of its call, in seconds. */
const lifeSeconds = 24 * 3_600;

/** Longest run of an immediate call, in milliseconds. */
const longestRunMs = 60_000;

/** Longest run of a deferred call, in milliseconds. */
export const longestDeferredRunMs = (longestCallSeconds + 90) * 1_000;

/** Usual time until a worker starts, in milliseconds. */
const usualStartMs = 5_000;

/** An attempt fails only if the key expires between write and read. */
const maxAttempts = 3;

/** Maximum size of a packed outcome, in bytes. An item may have 409,600, including names and key. */
const maxOutcomeBytes = 400_000;

export function openIdempotentCalls(table: Table) {
  async function findItem({ account, key, nowMs }: KeyedRequest): Promise<CallItem | undefined> {
    const item = await table.get<CallItem>(keys.call(account, key));
    return item && isTaken(item, nowMs) ? item : undefined;
  }

  return {
    /**
     * Claims the key with one write. Of any number of concurrent requests, exactly one gets `started` and may call the upstream. It must then call
     * `finish`, or `abandon` if the upstream did not act.
     * @throws ApiError SERVICE_UNAVAILABLE
     */
    async begin(request: KeyedRequest): Promise<{ state: 'started' } | UsedKey> {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        if (await table.put(newCall(request, 'running'), { when: isFree(request.nowMs) })) return { state: 'started' };
        const stored = await findItem(request);
        if (stored?.execution_id === request.executionId) return { state: 'started' };
        if (stored) return describeUsedKey(stored, request);
      }
      throw unavailable('Too many concurrent requests use this Idempotency-Key. Try again after Retry-After.');
    },

    /** Reads the state of the key. Call it before `begin` to avoid a write that would fail. */
    async find(request: KeyedRequest): Promise<{ state: 'free' } | UsedKey> {
      const stored = await findItem(request);
      return stored ? describeUsedKey(stored, request) : { state: 'free' };
    },

    /**
     * Stores the outcome for the rest of the 24 hours together with other writes, all or none.
     * @returns whether they are stored; false if the table cannot be reached, which leaves the call `unknown`
     */
    async finish({ account, key, executionId }: KeyedCall, outcome: Outcome, others?: readonly Write[]): Promise<boolean> {
      const update = { set: await outcomeMembers(outcome), when: isOwn(executionId) };
      return unlessUnreachable(writeWith(table, keys.call(account, key), update, others));
    },

    /** Makes the writes that belong to the answer of a call without a key, all or none. @returns whether they were made */
    async keep(writes: readonly Write[] = []): Promise<boolean> {
      const [first, ...others] = writes;
      if (!first) return true;
      try {
        // one write alone costs half of a transaction
        if (others.length === 0 && 'put' in first) return await table.put(first.put, first);
        return (await table.transact(writes)) === true;
      } catch (error) {
        log.warn('not stored with the answer', { cause: describeCause(error) });
        return false;
      }
    },

    /**
     * Frees the key of a deferred call that has ended. Its outcome stays readable by its id until the key is used again.
     * @param ended - the execution that used the key
     * @param run - the one that {@link UsedKey} names, whose call an equal request resumes, if it was approved and the approval lasts
     */
    free: ({ account, key, nowMs }: Pick<KeyedRequest, 'account' | 'key' | 'nowMs'>, ended: string, run?: string): Promise<boolean> => {
      const isIn = (state: CallItem['state']): Condition => ['=', 'state', state];
      const hasEnded = (['done', 'denied', 'void'] as const).map(isIn);
      return unlessUnreachable(
        table
          .update(keys.call(account, key), {
            set: { may_repeat: true, ...(run === undefined && { until: 0 }) },
            when:
              run === undefined
                ? [
                    ['=', 'execution_id', ended],
                    ['exists', 'deferred'],
                    ['any', ...hasEnded, isIn('waiting'), isIn('queued')],
                    ['any', ...hasEnded, ['<=', 'until', nowMs]],
                  ]
                : // not once the call has been resumed
                  [['=', 'repeatable', run]],
            isQuiet: true,
          })
          .then((updated) => updated !== false),
      );
    },

    /** Frees the key, because the upstream did not act. Returns false if the table cannot be reached, which leaves the call `unknown`. */
    abandon: ({ account, key, executionId }: KeyedCall): Promise<boolean> =>
      unlessUnreachable(table.delete(keys.call(account, key), { when: isOwn(executionId) }).then(() => true)),
  };
}

export type IdempotentCalls = ReturnType<typeof openIdempotentCalls>;

/** Conditions: the key belongs to this execution, whose call is still running. */
export const isOwn = (executionId: string): Condition[] => [
  ['=', 'execution_id', executionId],
  ['=', 'state', 'running'],
];

export const isFree = (nowMs: number): Condition[] => [
  ['any', ['absent', 'pk'], ['<=', 'expires_at', nowMs / 1000], ['=', 'may_repeat', true]],
];

export const newCall = ({ account, key, executionId, fingerprint, nowMs }: KeyedRequest, state: CallItem['state']) => ({
  ...keys.call(account, key),
  execution_id: executionId,
  fingerprint,
  state,
  started_at: nowMs,
  expires_at: Math.ceil(nowMs / 1000) + lifeSeconds,
});

/** Whether the key of a call is taken: it has not expired, and the call may not be repeated. */
export const isTaken = ({ expires_at, may_repeat }: CallItem, nowMs: number): boolean => expires_at > nowMs / 1_000 && !may_repeat;

const askAgain = 'so it was not made. If you still want it, send it under a new Idempotency-Key.';
const notDecided = `Nobody decided on this call in time, ${askAgain}`;
const notBegun = `This call waited too long in the queue, ${askAgain}`;

/** The state of a used key, as seen by a request under it. */
export const describeUsedKey = async (item: CallItem, request: Pick<KeyedRequest, 'fingerprint' | 'nowMs'>): Promise<UsedKey> => ({
  ...(await describeCall(item, request)),
  executionId: item.execution_id,
});

async function describeCall(item: CallItem, { fingerprint, nowMs }: Pick<KeyedRequest, 'fingerprint' | 'nowMs'>): Promise<StateOfCall> {
  const { state, started_at, outcome, deferred, until = 0, reason = '' } = item;
  if (item.fingerprint !== fingerprint) return { state: 'conflict' };
  if (state === 'done') {
    if (!outcome) return { state: 'not_stored' };
    const { repeatable, may_repeat } = item;
    return { state: 'replay', outcome: await unpackOutcome(outcome), ...(repeatable && !may_repeat && { freesKeyOf: repeatable }) };
  }
  if (state === 'denied') return { state, reason: reason || 'no reason was given' };
  if (state === 'void') return { state: 'expired', reason };
  const ageMs = nowMs - started_at;
  if (state === 'running') {
    if (ageMs >= (deferred ? longestDeferredRunMs : longestRunMs)) return { state: 'unknown' };
    // each wait is as long as the call has already taken, so that the waits double
    if (!deferred) return { state, retryAfterSeconds: Math.max(1, Math.ceil(ageMs / 1000)) };
    return { state: 'working', isIdle: false };
  }
  if (until <= nowMs) return { state: 'expired', reason: state === 'waiting' ? notDecided : notBegun };
  return state === 'waiting' ? { state, untilMs: until } : { state: 'working', isIdle: ageMs > usualStartMs };
}

/**
 * The members of a record that store an outcome; `outcome` is absent if it is too large.
 * @param others - other content of the record that counts towards the size limit
 */
export async function outcomeMembers(outcome: Outcome, others?: Uint8Array): Promise<Pick<CallItem, 'state' | 'outcome'>> {
  const packed = await packOutcome(outcome);
  return { state: 'done', ...(packed.length + (others?.length ?? 0) <= maxOutcomeBytes && { outcome: packed }) };
}

/** Serialises an outcome. A refusal is stored in parts, because the final body names the request that it answers. */
function packOutcome(outcome: Outcome): Promise<Uint8Array> {
  let packed: PackedOutcome = { response: outcome as ApiResponse };
  if (outcome instanceof ApiError) {
    const { code, message, status, details, headers, fault } = outcome;
    packed = { error: { code, message, status, details, headers, fault } };
  }
  return pack(packed);
}

async function unpackOutcome(bytes: Uint8Array): Promise<Outcome> {
  const packed = (await unpack(bytes)) as PackedOutcome;
  if ('response' in packed) return packed.response;
  const { code, message, ...options } = packed.error;
  return new ApiError(code, message, options);
}

/** Updates a record and makes the other writes in one request. @returns false if there are others and the conditions do not hold */
export async function writeWith(
  table: Pick<Table, 'update' | 'transact'>,
  key: Key,
  update: Update,
  others: readonly Write[] = [],
): Promise<boolean> {
  if (others.length === 0) return table.update(key, { ...update, isQuiet: true }).then(() => true);
  return (await table.transact([{ update: key, ...update }, ...others])) === true;
}

/** Maps an unreachable table to false. The caller gets the outcome of its call either way. */
const unlessUnreachable = (write: Promise<boolean>): Promise<boolean> =>
  write.catch((error: unknown) => {
    if (isUnavailable(error)) return false;
    throw error;
  });
