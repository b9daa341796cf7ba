import { setTimeout as delay } from 'node:timers/promises';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { type ApiError, unavailable } from '../runtime/api-error.ts';
import { bounded, currentSignal } from '../runtime/invocation.ts';

/** How long writes that conflict with a transaction are retried, in milliseconds. */
const conflictMs = 5_000;

/** Longest wait between attempts, in milliseconds, so that early callers do not wait much longer than late ones. */
const longestWaitMs = 250;

/** Transient reasons for cancelling a transaction, as opposed to failed conditions. */
const transient = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

/** Whether a write conflicted or was throttled, so that nothing was written and it may be retried. */
function isConflict(error: unknown): boolean {
  if (error instanceof TransactionCanceledException) return (error.CancellationReasons ?? []).some(({ Code = '' }) => transient.has(Code));
  return error instanceof Error && (error.name === 'TransactionConflictException' || error.name === 'TransactionInProgressException');
}

/** Waits before the next attempt, at most `leftMs`. `tookMs` is the duration of the last attempt. */
export type Pause = (attempt: number, tookMs: number, leftMs?: number) => Promise<void>;

/**
 * Repeats an attempt, after random waits, while concurrent changes overtake it.
 * @param attempt - resolves to undefined, without any effect, if another change came first
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

/** Retries a write that conflicts with transactions. */
export const retryConflicts = <T>(send: () => Promise<T>): Promise<T> =>
  persist(async () => {
    try {
      return { value: await send() };
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  });

const tooManyChanges = (cause?: unknown): ApiError =>
  unavailable('There are too many concurrent changes. Try again after Retry-After.', cause);

/**
 * Waits a random time ("full jitter") of up to four times the duration of the last attempt, doubling with each attempt, up to 250 ms, so that callers of
 * an overloaded table wait longer. The wait ends with the invocation.
 */
export async function backOff(attempt: number, tookMs: number, leftMs = conflictMs): Promise<void> {
  const waitMs = Math.random() * Math.min(Math.max(tookMs, 5) * 2 ** (attempt + 2), longestWaitMs, leftMs);
  await delay(waitMs, undefined, { signal: currentSignal() }).catch((error) => {
    throw tooManyChanges(error);
  });
}

/** Errors caused by the request rather than by the table. */
const requestFaults = new Set([
  'ValidationException',
  'AccessDeniedException',
  'ResourceNotFoundException',
  'ConditionalCheckFailedException',
  'IdempotentParameterMismatchException',
]);

/** Errors which mean that nothing was written. */
const nothingWritten = new Set(['TransactionCanceledException', 'TransactionConflictException', 'TransactionInProgressException']);

/** Whether a request was sent before it failed. The SDK then adds `$metadata` to the error. */
const wasSent = (error: unknown): boolean =>
  error instanceof Error && ('$metadata' in error || error.name === 'TimeoutError' || error.name === 'AbortError');

export async function reachWithin<T>(timeoutMs: number, send: () => Promise<T>): Promise<T> {
  try {
    return await bounded(timeoutMs, send);
  } catch (error) {
    const isOver = currentSignal()?.aborted ?? false;
    if (!isOver && (!wasSent(error) || (error instanceof Error && (requestFaults.has(error.name) || nothingWritten.has(error.name)))))
      throw error;
    throw unavailable(
      'The database of the gate cannot be reached. Try again after Retry-After; if you were changing something, first check whether it was changed.',
      error,
    );
  }
}
