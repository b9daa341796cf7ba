import { setTimeout as delay } from 'node:timers/promises';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { type ApiError, unavailable } from '../api-error.ts';
import { bounded, currentSignal } from '../invocation.ts';

/** How long writes that meet a transaction on their items are tried again (contract section 18). */
const conflictMs = 5_000;

/** The longest wait between two attempts: who has tried for long must not wait much longer than who has just come. */
const longestWaitMs = 250;

/** Reasons of a cancelled transaction that say nothing about its conditions. */
const passing = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

/** Whether a write met a transaction on one of its items, or too many writes: it wrote nothing, and may be sent again. */
function isConflict(error: unknown): boolean {
  if (error instanceof TransactionCanceledException) return (error.CancellationReasons ?? []).some(({ Code = '' }) => passing.has(Code));
  return error instanceof Error && (error.name === 'TransactionConflictException' || error.name === 'TransactionInProgressException');
}

/** Waits before another attempt, of which the last one took `tookMs` and came to nothing; at most `leftMs`. */
export type Pause = (attempt: number, tookMs: number, leftMs?: number) => Promise<void>;

/**
 * Attempts something again and again, after random waits, while others come before it.
 * @param attempt - undefined if another one came before it: then it has done nothing
 * @throws ApiError SERVICE_UNAVAILABLE after five seconds
 */
export async function persist<T>(attempt: () => Promise<{ value: T } | undefined>, pause: Pause = backOff): Promise<T> {
  const endMs = performance.now() + conflictMs;
  for (let made = 0; ; made++) {
    const startMs = performance.now();
    const done = await attempt();
    if (done) return done.value;
    const nowMs = performance.now();
    if (nowMs >= endMs) throw tooManyChanges();
    await pause(made, nowMs - startMs, endMs - nowMs);
  }
}

/** Tries again what meets transactions on its items. */
export const pastConflicts = <T>(send: () => Promise<T>): Promise<T> =>
  persist(async () => {
    try {
      return { value: await send() };
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  });

/** 503 after five seconds of conflicts. */
const tooManyChanges = (cause?: unknown): ApiError => unavailable('Too many changes are made at once. Try again after Retry-After.', cause);

/**
 * A random wait before the next attempt ("full jitter"), of up to four times what the last attempt took, doubling with each and at most a quarter of a second; it ends with the invocation.
 * A table that is slow because many try at once makes them wait longer.
 * @param tookMs - how long the attempt took that came to nothing
 * @param leftMs - the longest wait
 */
async function backOff(attempt: number, tookMs: number, leftMs = conflictMs): Promise<void> {
  const waitMs = Math.random() * Math.min(Math.max(tookMs, 5) * 2 ** (attempt + 2), longestWaitMs, leftMs);
  await delay(waitMs, undefined, { signal: currentSignal() }).catch((error) => {
    throw tooManyChanges(error);
  });
}

/** Errors that say that the request itself is wrong: a fault of ours, not of the table. */
const ours = new Set([
  'ValidationException',
  'AccessDeniedException',
  'ResourceNotFoundException',
  'ConditionalCheckFailedException',
  'IdempotentParameterMismatchException',
]);

/** Errors that say that nothing was written, and why. */
const telling = new Set(['TransactionCanceledException', 'TransactionConflictException', 'TransactionInProgressException']);

/** Whether a request has gone out: the SDK adds `$metadata` to whatever came of it. What fails before, such as a value that no item can hold, is ours. */
const wasSent = (error: unknown): boolean =>
  error instanceof Error && ('$metadata' in error || error.name === 'TimeoutError' || error.name === 'AbortError');

export async function reachWithin<T>(timeoutMs: number, send: () => Promise<T>): Promise<T> {
  try {
    return await bounded(timeoutMs, send);
  } catch (error) {
    const isOver = currentSignal()?.aborted ?? false;
    if (!isOver && (!wasSent(error) || (error instanceof Error && (ours.has(error.name) || telling.has(error.name))))) throw error;
    throw unavailable('The registry cannot be reached. Try again after Retry-After.', error);
  }
}
