import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * A signal until which work may go on: aborted when the invocation has answered because its time was up, or when one of its steps took too long.
 * It travels with the asynchronous context, so that every call of another service finds it without each function on the way passing it on.
 */
const signals = new AsyncLocalStorage<AbortSignal | undefined>();

/** The signal that ends the current step; undefined outside an invocation. */
export const currentSignal = (): AbortSignal | undefined => signals.getStore();

/** Runs the work of one invocation. */
export const withinInvocation = <T>(signal: AbortSignal, work: () => T): T => signals.run(signal, work);

/**
 * Runs work that invocations share, such as bringing the search index up to date: it outlives the invocation that began it, and goes on in
 * the next one. Each of its steps is bounded by its own time.
 */
export const beyondInvocation = <T>(work: () => T): T => signals.run(undefined, work);

/**
 * Runs one step, which ends after `timeoutMs` or with the work that it is part of. No step begins once that has ended.
 * @param step - is passed the signal, or asks {@link currentSignal} for it
 */
export async function bounded<T>(timeoutMs: number, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const outer = currentSignal();
  outer?.throwIfAborted();
  const controller = new AbortController();
  const end = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', end, { once: true });
  // Not AbortSignal.timeout: its timer cannot be cleared, and would keep everything that listens to it alive for as long.
  const timer = setTimeout(() => controller.abort(new DOMException('the step took too long', 'TimeoutError')), timeoutMs);
  try {
    return await signals.run(controller.signal, step, controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', end);
  }
}
