import { AsyncLocalStorage } from 'node:async_hooks';

/** How long work may continue. */
interface Bounds {
  /** aborted when the invocation or the current step has timed out */
  signal?: AbortSignal;
  /** on the clock of `performance.now()` */
  endMs: number;
}

const unbounded: Bounds = { endMs: Number.POSITIVE_INFINITY };

/** Propagates with the asynchronous context, so that functions need not pass it on to each call of another service. */
const bounds = new AsyncLocalStorage<Bounds>({ defaultValue: unbounded });

/** The signal that ends the current step; undefined outside an invocation. */
export const currentSignal = (): AbortSignal | undefined => bounds.getStore()?.signal;

/** Milliseconds left for the current step; infinite unless {@link untilTimeout} has set a limit. */
export const timeLeftMs = (): number => (bounds.getStore() ?? unbounded).endMs - performance.now();

/** The abort reason of requests whose step has timed out. */
export const stepTimeout = (): DOMException => new DOMException('the step took too long', 'TimeoutError');

/** Runs the work of one invocation. */
export const withinInvocation = <T>(signal: AbortSignal, work: () => T): T => bounds.run({ ...unbounded, signal }, work);

/**
 * Runs work that invocations share, such as updating the search index: it outlives the invocation that began it and continues in the next one.
 * Each of its steps has its own timeout.
 */
export const beyondInvocation = <T>(work: () => T): T => bounds.run(unbounded, work);

/**
 * Runs one step, which ends after `timeoutMs` or when the enclosing work ends. It does not begin if that has ended already.
 * @param step - receives the signal as an argument and through {@link currentSignal}
 */
export async function bounded<T>(timeoutMs: number, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { endMs, signal: outer } = bounds.getStore() ?? unbounded;
  outer?.throwIfAborted();
  const controller = new AbortController();
  const end = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', end, { once: true });
  // Not AbortSignal.timeout: its timer cannot be cleared, and would keep its listeners alive until it fires.
  const timer = setTimeout(() => controller.abort(stepTimeout()), timeoutMs);
  try {
    return await bounds.run({ endMs, signal: controller.signal }, step, controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', end);
  }
}

/** A cheaper {@link bounded} for a step that only waits for requests of `jsonHttpHandler`, whose timers end it. */
export async function untilTimeout<T>(timeoutMs: number, step: () => Promise<T>): Promise<T> {
  const outer = bounds.getStore() ?? unbounded;
  outer.signal?.throwIfAborted();
  return bounds.run({ ...outer, endMs: Math.min(outer.endMs, performance.now() + timeoutMs) }, step);
}
