import { AsyncLocalStorage } from 'node:async_hooks';

/** Until when work may go on. */
interface Bounds {
  /** aborted when the invocation has answered because its time was up, or when one of its steps took too long */
  signal?: AbortSignal;
  /** as `performance.now()` counts */
  endMs: number;
}

const unbounded: Bounds = { endMs: Number.POSITIVE_INFINITY };

/** Travels with the asynchronous context, so that every call of another service finds it without each function on the way passing it on. */
const bounds = new AsyncLocalStorage<Bounds>({ defaultValue: unbounded });

/** The signal that ends the current step; undefined outside an invocation. */
export const currentSignal = (): AbortSignal | undefined => bounds.getStore()?.signal;

/** The rest of the current step's own time; infinite unless {@link untilTimeout} has set it. */
export const timeLeftMs = (): number => (bounds.getStore() ?? unbounded).endMs - performance.now();

/** What the request of a step is aborted with once the step's time is up. */
export const stepTimeout = (): DOMException => new DOMException('the step took too long', 'TimeoutError');

/** Runs the work of one invocation. */
export const withinInvocation = <T>(signal: AbortSignal, work: () => T): T => bounds.run({ ...unbounded, signal }, work);

/**
 * Runs work that invocations share, such as bringing the search index up to date: it outlives the invocation that began it, and goes on in
 * the next one. Each of its steps is bounded by its own time.
 */
export const beyondInvocation = <T>(work: () => T): T => bounds.run(unbounded, work);

/**
 * Runs one step, which ends after `timeoutMs` or with the work that it is part of. No step begins once that has ended.
 * @param step - is passed the signal, or asks {@link currentSignal} for it
 */
export async function bounded<T>(timeoutMs: number, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { endMs, signal: outer } = bounds.getStore() ?? unbounded;
  outer?.throwIfAborted();
  const controller = new AbortController();
  const end = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', end, { once: true });
  // Not AbortSignal.timeout: its timer cannot be cleared, and would keep everything that listens to it alive for as long.
  const timer = setTimeout(() => controller.abort(stepTimeout()), timeoutMs);
  try {
    return await bounds.run({ endMs, signal: controller.signal }, step, controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', end);
  }
}

/** {@link bounded} at less cost, for a step that only waits for requests of `jsonHttpHandler`: their timers end it. */
export async function untilTimeout<T>(timeoutMs: number, step: () => Promise<T>): Promise<T> {
  const outer = bounds.getStore() ?? unbounded;
  outer.signal?.throwIfAborted();
  return bounds.run({ ...outer, endMs: Math.min(outer.endMs, performance.now() + timeoutMs) }, step);
}
