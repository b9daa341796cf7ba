import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The signal that ends the current step. It propagates with the asynchronous context, so that functions need not pass it on to each call of another
 * service.
 */
const signals = new AsyncLocalStorage<AbortSignal | undefined>();

/** The signal that ends the current step; undefined outside an invocation. */
export const currentSignal = (): AbortSignal | undefined => signals.getStore();

/** Runs the work of one invocation. */
export const withinInvocation = <T>(signal: AbortSignal, work: () => T): T => signals.run(signal, work);

/**
 * Runs work that invocations share, such as updating the search index: it outlives the invocation that began it and continues in the next one.
 * Each of its steps has its own timeout.
 */
export const beyondInvocation = <T>(work: () => T): T => signals.run(undefined, work);

/**
 * Runs one step, which ends after `timeoutMs` or when the enclosing work ends. It does not begin if that has ended already.
 * @param step - receives the signal as an argument and through {@link currentSignal}
 */
export async function bounded<T>(timeoutMs: number, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const outer = currentSignal();
  outer?.throwIfAborted();
  const controller = new AbortController();
  const end = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', end, { once: true });
  // Not AbortSignal.timeout: its timer cannot be cleared, and would keep its listeners alive until it fires.
  const timer = setTimeout(() => controller.abort(new DOMException('the step took too long', 'TimeoutError')), timeoutMs);
  try {
    return await signals.run(controller.signal, step, controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', end);
  }
}

/** Rejects once a signal is aborted, for work that does not observe it; late, so that a result so far wins. */
export const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => setImmediate(reject, signal.reason), { once: true }));
