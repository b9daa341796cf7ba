import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

/** A request's span in its caller's trace (W3C Trace Context). */
export interface Trace {
  traceId: string;
  /** identifies this request: the parent of the calls that it causes */
  spanId: string;
  /** two hexadecimal digits */
  flags: string;
  /** the caller's `tracestate` */
  state?: string;
}

/** Propagates with the asynchronous context to every log line and call. */
const traces = new AsyncLocalStorage<{ trace: Trace | undefined }>();

export const currentTrace = (): Trace | undefined => traces.getStore()?.trace;

export const withinTrace = <T>(trace: Trace | undefined, work: () => T): T => traces.run({ trace }, work);

/** Continues the invocation in the trace that its MCP message names: a host may share one connection among traces. */
export function continueTrace(trace: Trace): void {
  const store = traces.getStore();
  if (store) store.trace = trace;
}

/** Flags that may be forwarded: sampled and random trace id (level 2, section 3.2.2.5). */
const knownFlags = 0b11;

/** What is forwarded unread: only the tracing systems that wrote a `tracestate` can tell whether its members are valid. */
const traceState = /^[!-~][\t -~]{0,511}$/;

/**
 * Reads `traceparent` and `tracestate`. Versions after 00 may have more fields at the end.
 * @returns undefined if `traceparent` is absent or invalid, which is not an error (section 3.2.2)
 */
export function readTrace(traceparent: unknown, tracestate: unknown): Trace | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const form = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-([\da-f]{2})(-|$)/;
  const [, version, traceId, flags, end] = form.exec(traceparent) ?? [];
  if (traceId === undefined || (version === '00' && end === '-')) return undefined;
  return {
    traceId,
    spanId: randomBytes(8).toString('hex'),
    flags: (Number.parseInt(flags ?? '', 16) & knownFlags).toString(16).padStart(2, '0'),
    ...(typeof tracestate === 'string' && traceState.test(tracestate) && { state: tracestate }),
  };
}

export function traceHeaders(): Record<string, string> {
  const trace = currentTrace();
  if (!trace) return {};
  const { traceId, spanId, flags, state } = trace;
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(state !== undefined && { tracestate: state }) };
}
