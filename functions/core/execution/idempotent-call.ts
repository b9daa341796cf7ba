import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { ErrorCode } from '../../../schemas/errors.ts';
import { parseExact } from '../../../schemas/number.ts';
import { ApiError, type ApiErrorOptions, unavailable } from '../api-error.ts';
import type { ApiResponse } from '../http/response.ts';
import type { Condition } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

/** What a call ended with: an answer or a refusal that came after the upstream was called. */
export type Outcome = ApiResponse | ApiError;

/** One execution under an idempotency key. */
export interface KeyedCall {
  /** of the holder, see `pat/holder.ts`: the next owner of the agent_id does not get its responses */
  account: string;
  /** the agent's idempotency key */
  key: string;
  /** new for each execution, so that a retry after a lost response is recognised */
  executionId: string;
}

export interface KeyedRequest extends KeyedCall {
  /** digest of what is asked for; see {@link ./idempotency-key.ts} */
  fingerprint: string;
  /** milliseconds since the epoch */
  nowMs: number;
}

/** The state of a key that has been used in the last 24 hours. */
export type HeldCall =
  | { state: 'replay'; outcome: Outcome }
  /** it ended, and its answer was too large to keep */
  | { state: 'unkept' }
  /** the key was used for another request */
  | { state: 'conflict' }
  | { state: 'running'; retryAfterSeconds: number }
  /** its process ended without recording an outcome: the upstream may or may not have been called */
  | { state: 'unknown' };

interface CallItem extends Item {
  execution_id: string;
  fingerprint: string;
  state: 'running' | 'done';
  /** milliseconds since the epoch */
  started_at: number;
  /** seconds since the epoch */
  expires_at: number;
  /** the outcome as gzipped JSON; none if it was too large */
  outcome?: Uint8Array;
}

export interface IdempotentCalls {
  /**
   * Claims the key with one write. Of any number of concurrent requests, exactly one gets `started` and may call the upstream; it then calls
   * {@link finish}, or {@link abandon} if nothing was sent.
   * @throws ApiError SERVICE_UNAVAILABLE
   */
  begin(request: KeyedRequest): Promise<{ state: 'started' } | HeldCall>;
  /** The state of the key, with one read. It saves {@link begin} a write that would fail. */
  find(request: KeyedRequest): Promise<{ state: 'free' } | HeldCall>;
  /** Keeps the outcome for the rest of the 24 hours. False if the table cannot be reached: the key's call is then `unknown`. */
  finish(call: KeyedCall, outcome: Outcome): Promise<boolean>;
  /** Frees the key: nothing was sent upstream. False if the table cannot be reached: the key's call is then `unknown`. */
  abandon(call: KeyedCall): Promise<boolean>;
}

/** How long a key is kept, from the start of its call. */
const lifeSeconds = 24 * 3_600;

/** No execution runs this long. */
const longestRunMs = 60_000;

/** An attempt fails only if the key expires between write and read. */
const maxAttempts = 3;

/** An item has at most 400 KB (409,600 bytes), names and key included. */
const maxOutcomeBytes = 400_000;

/** Only the execution that claimed the key may end it, and only once. */
const isOwn = (executionId: string): Condition[] => [
  ['=', 'execution_id', executionId],
  ['=', 'state', 'running'],
];

export function openIdempotentCalls(table: Table): IdempotentCalls {
  async function findItem({ account, key, nowMs }: KeyedRequest): Promise<CallItem | undefined> {
    const item = await table.get<CallItem>(keys.call(account, key));
    return item && item.expires_at > nowMs / 1000 ? item : undefined;
  }

  async function begin(request: KeyedRequest): Promise<{ state: 'started' } | HeldCall> {
    const { account, key, executionId, fingerprint, nowMs } = request;
    const item = {
      ...keys.call(account, key),
      execution_id: executionId,
      fingerprint,
      state: 'running',
      started_at: nowMs,
      expires_at: Math.ceil(nowMs / 1000) + lifeSeconds,
    };
    const when: Condition[] = [['any', ['absent', 'pk'], ['<=', 'expires_at', nowMs / 1000]]];
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (await table.put(item, { when })) return { state: 'started' };
      const held = await findItem(request);
      if (held?.execution_id === executionId) return { state: 'started' };
      if (held) return describe(held, request);
    }
    throw unavailable('The idempotency key is being used by many requests at once. Try again after Retry-After.');
  }

  async function find(request: KeyedRequest): Promise<{ state: 'free' } | HeldCall> {
    const held = await findItem(request);
    return held ? describe(held, request) : { state: 'free' };
  }

  async function finish({ account, key, executionId }: KeyedCall, outcome: Outcome): Promise<boolean> {
    const packed = await pack(outcome);
    const isKept = packed.length <= maxOutcomeBytes;
    const set = { state: 'done', outcome: isKept ? packed : undefined };
    return isReached(table.update(keys.call(account, key), { set, when: isOwn(executionId), isQuiet: true }));
  }

  const abandon = ({ account, key, executionId }: KeyedCall): Promise<boolean> =>
    isReached(table.delete(keys.call(account, key), { when: isOwn(executionId) }));

  return { begin, find, finish, abandon };
}

/** Whether the table answered; the caller gets the call's outcome either way. */
async function isReached(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE') return false;
    throw error;
  }
}

async function describe(item: CallItem, { fingerprint, nowMs }: KeyedRequest): Promise<HeldCall> {
  if (item.fingerprint !== fingerprint) return { state: 'conflict' };
  if (item.state === 'done') return item.outcome ? { state: 'replay', outcome: await unpack(item.outcome) } : { state: 'unkept' };
  const ageMs = nowMs - item.started_at;
  if (ageMs >= longestRunMs) return { state: 'unknown' };
  return { state: 'running', retryAfterSeconds: Math.max(1, Math.ceil(ageMs / 1000)) };
}

type Packed = { response: ApiResponse } | { error: { code: ErrorCode; message: string } & ApiErrorOptions };

/** A refusal is kept in its parts rather than as an answer, because each answer names its own request. */
async function pack(outcome: Outcome): Promise<Uint8Array> {
  let packed: Packed = { response: outcome as ApiResponse };
  if (outcome instanceof ApiError) {
    const { code, message, status, details, headers, fault } = outcome;
    packed = { error: { code, message, status, details, headers, fault } };
  }
  return promisify(gzip)(JSON.stringify(packed));
}

async function unpack(bytes: Uint8Array): Promise<Outcome> {
  const packed = parseExact((await promisify(gunzip)(bytes)).toString('utf8')) as Packed;
  if ('response' in packed) return packed.response;
  const { code, message, ...options } = packed.error;
  return new ApiError(code, message, options);
}
